/// The contents of a vault: the queue's secret, and the hints of the messages that were written, oldest first.
struct VaultContents {
  /// The bytes before encryption, always so many.
  static let byteCount = Vault.byteCount - VaultBox.overhead
  /// The largest number of hints; the oldest is dropped for a newer one. The queue holds far fewer.
  static let hintCapacity = (byteCount - hintsOffset) / MessageHint.byteCount
  private static let version: UInt8 = 1
  private static let hintsOffset = 1 + SendingQueue.secretByteCount + 2

  let secret: SecretBytes
  private(set) var hints: [MessageHint]

  /// Creates contents with a new secret.
  init() throws(MessageSendingError) {
    secret = try SecretBytes(randomCount: SendingQueue.secretByteCount)
    hints = []
  }

  /// Reads what was decrypted.
  init(_ bytes: SecretBytes) throws(MessageSendingError) {
    secret = try SecretBytes(bytes, in: 1..<1 + SendingQueue.secretByteCount)
    let (version, found) = bytes.withBytes { bytes in
      let count = Int(bytes[Self.hintsOffset - 2]) << 8 | Int(bytes[Self.hintsOffset - 1])
      let rest = bytes.dropFirst(Self.hintsOffset)
      let hints = (0..<min(count, Self.hintCapacity + 1)).map { number in
        Array(rest.dropFirst(number * MessageHint.byteCount).prefix(MessageHint.byteCount))
      }
      return (bytes[0], hints)
    }
    guard version == Self.version, found.count <= Self.hintCapacity else {
      throw MessageSendingError(.damagedFile, "the vault is of a later version")
    }
    hints = []
    for hint in found { hints.append(try MessageHint(bytes: hint)) }
  }

  /// Adds hints that are not there, and drops the oldest that do not fit.
  mutating func add(_ new: [MessageHint]) {
    hints += new.filter { !hints.contains($0) }
    hints.removeFirst(max(hints.count - Self.hintCapacity, 0))
  }

  /// Removes all hints.
  mutating func removeHints() { hints = [] }

  /// Returns the bytes to encrypt.
  func bytes() throws(MessageSendingError) -> SecretBytes {
    try SecretBytes(count: Self.byteCount) { memory in
      memory.initializeMemory(as: UInt8.self, repeating: 0)
      memory[0] = Self.version
      secret.withBytes { UnsafeMutableRawBufferPointer(rebasing: memory[1...]).copyMemory(from: $0) }
      memory[Self.hintsOffset - 2] = UInt8(hints.count >> 8)
      memory[Self.hintsOffset - 1] = UInt8(hints.count & 0xff)
      UnsafeMutableRawBufferPointer(rebasing: memory[Self.hintsOffset...]).copyBytes(from: hints.flatMap(\.bytes))
    }
  }
}
