internal import CSodium

/// The encryption of a vault: a salt, a nonce, and a secret box under the key that argon2id makes of the passphrase.
///
/// All of it looks random, and nothing says that it is a vault.
struct VaultBox {
  static let saltByteCount = Int(crypto_pwhash_argon2id_SALTBYTES)
  static let nonceByteCount = Int(crypto_secretbox_NONCEBYTES)
  static let overhead = saltByteCount + nonceByteCount + Int(crypto_secretbox_MACBYTES)

  let salt: [UInt8]
  private let key: SecretBytes

  /// Makes the key of a passphrase, which takes time and memory on purpose.
  init(passphrase: SecretBytes, salt: [UInt8], cost: VaultCost) throws(MessageSendingError) {
    try Sodium.start()
    self.salt = salt
    key = try SecretBytes(count: Int(crypto_secretbox_KEYBYTES)) { memory throws(MessageSendingError) in
      let result = passphrase.withBytes { passphrase in
        crypto_pwhash(
          memory.firstByte, UInt64(memory.count), passphrase.baseAddress!.assumingMemoryBound(to: CChar.self),
          UInt64(passphrase.count), salt, UInt64(cost.passes), cost.memoryByteCount,
          Int32(crypto_pwhash_ALG_ARGON2ID13))
      }
      guard result == 0 else {
        throw MessageSendingError(
          .cryptography, "the passphrase needs \(cost.memoryByteCount >> 20) MiB of memory, which are not free")
      }
    }
  }

  /// Returns the bytes of the file.
  func seal(_ contents: SecretBytes) throws(MessageSendingError) -> [UInt8] {
    let nonce = try Sodium.random(Self.nonceByteCount)
    var box = [UInt8](repeating: 0, count: contents.count + Int(crypto_secretbox_MACBYTES))
    let result = contents.withPointer { contents in
      key.withPointer { crypto_secretbox_easy(&box, contents, UInt64(contentsByteCount(box)), nonce, $0) }
    }
    guard result == 0 else { throw MessageSendingError(.cryptography, "the vault could not be encrypted") }
    return salt + nonce + box
  }

  /// Opens the bytes of a file.
  /// - Throws: ``MessageSendingError`` with code `.cannotUnlock`.
  func open(_ file: [UInt8]) throws(MessageSendingError) -> SecretBytes {
    let nonce = Array(file.dropFirst(Self.saltByteCount).prefix(Self.nonceByteCount))
    let box = Array(file.dropFirst(Self.saltByteCount + Self.nonceByteCount))
    return try SecretBytes(count: contentsByteCount(box)) { memory throws(MessageSendingError) in
      let result = key.withPointer { key in
        crypto_secretbox_open_easy(memory.firstByte, box, UInt64(box.count), nonce, key)
      }
      guard result == 0 else {
        throw MessageSendingError(.cannotUnlock, "the passphrase is wrong, or the vault is corrupt")
      }
    }
  }

  private func contentsByteCount(_ box: [UInt8]) -> Int { box.count - Int(crypto_secretbox_MACBYTES) }
}

/// The cost of making a key of a passphrase with argon2id.
package struct VaultCost: Sendable {
  /// The number of passes over the memory.
  package var passes: Int
  /// The memory in bytes.
  package var memoryByteCount: Int

  package init(passes: Int, memoryByteCount: Int) {
    self.passes = passes
    self.memoryByteCount = memoryByteCount
  }

  /// Three passes over 64 MiB: what a board with 512 MB can spare, and half a second of it.
  package static let usual = VaultCost(passes: 3, memoryByteCount: 64 << 20)
}
