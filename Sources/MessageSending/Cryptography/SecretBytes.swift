internal import CSodium
import Glibc

/// Secret bytes of a fixed number, outside the heap: locked into memory where the limit permits it, and zeroed at the end.
///
/// The memory has guard pages, and is cleared with the last reference to the object (`sodium_malloc`, `sodium_free`).
///
/// ```swift
/// let secret = try SecretBytes(randomCount: 16)
/// print(secret.count)  // 16
/// ```
public final class SecretBytes: @unchecked Sendable {
  // Sound: the bytes are written only while an initializer runs.
  private let memory: UnsafeMutableRawPointer
  /// The number of secret bytes, without padding.
  public let count: Int

  /// Allocates memory and lets a closure fill it.
  /// - Throws: ``MessageSendingError`` with code `.cryptography` when memory runs out, or the closure's error.
  init(count: Int, fill: (UnsafeMutableRawBufferPointer) throws(MessageSendingError) -> Void)
    throws(MessageSendingError)
  {
    try Sodium.start()
    // The address of an empty allocation is of no use: there is always a byte.
    guard let memory = sodium_malloc(max(count, 1)) else {
      throw MessageSendingError(.cryptography, "no memory for \(count) secret bytes", errno: errno)
    }
    self.memory = memory
    self.count = count
    try fill(UnsafeMutableRawBufferPointer(start: memory, count: count))
  }

  /// Creates secret bytes from a generator that is fit for keys.
  /// - Parameter randomCount: The number of bytes.
  /// - Throws: ``MessageSendingError`` with code `.cryptography` when memory runs out.
  public convenience init(randomCount: Int) throws(MessageSendingError) {
    try self.init(count: max(randomCount, 0)) { randombytes_buf($0.baseAddress!, $0.count) }
  }

  /// Creates secret bytes from an array and overwrites that with zeros.
  /// - Throws: ``MessageSendingError`` with code `.cryptography` when memory runs out.
  public convenience init(taking bytes: inout [UInt8]) throws(MessageSendingError) {
    try self.init(count: bytes.count) { memory throws(MessageSendingError) in
      bytes.withUnsafeBytes { memory.copyMemory(from: $0) }
      wipe(&bytes)
    }
  }

  deinit { sodium_free(memory) }

  /// Calls a closure with the bytes, which must not leave it.
  /// - Returns: The closure's result.
  /// - Throws: The error that the closure throws.
  public func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    // The memory lives as long as the object does.
    defer { withExtendedLifetime(self) {} }
    return try body(UnsafeRawBufferPointer(start: memory, count: count))
  }
}

extension SecretBytes: CustomStringConvertible {
  /// The number of bytes, and nothing of them.
  public var description: String { "\(count) secret bytes" }
}
