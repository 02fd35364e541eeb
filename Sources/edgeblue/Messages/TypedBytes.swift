import Glibc

/// Secret bytes that a user types, in one allocation that can be wiped.
struct TypedBytes {
  private(set) var bytes: [UInt8] = []
  private let limit: Int

  /// Creates an empty text.
  /// - Parameter limit: The largest number of bytes; further ones are ignored.
  init(limit: Int) {
    self.limit = limit
    // At once: an array that grows leaves copies behind.
    bytes.reserveCapacity(limit)
  }

  mutating func append(_ byte: UInt8) {
    if bytes.count < limit { bytes.append(byte) }
  }

  /// Removes a number of bytes at the end, and overwrites them.
  mutating func removeLast(_ count: Int) {
    let count = min(count, bytes.count)
    guard count > 0 else { return }
    bytes.withUnsafeMutableBytes { explicit_bzero($0.baseAddress! + $0.count - count, count) }
    bytes.removeLast(count)
  }

  /// Removes the last character of UTF-8, as a terminal in its usual mode does.
  mutating func removeLastCharacter() {
    removeLast(min(bytes.reversed().prefix { $0 & 0xc0 == 0x80 }.count, 3) + 1)
  }

  /// Overwrites and removes everything.
  mutating func wipe() { removeLast(bytes.count) }
}
