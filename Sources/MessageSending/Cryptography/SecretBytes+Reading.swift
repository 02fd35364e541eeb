internal import CSodium
import Glibc

extension SecretBytes {
  /// Reads the first line of a file descriptor, for example a passphrase, without its end: a line feed, or a
  /// carriage return and a line feed.
  ///
  /// The bytes go from the kernel into locked memory, and nowhere else. Blocks the thread until the line or the input
  /// ends; a terminal's echo is the caller's business.
  /// - Parameters:
  ///   - descriptor: A descriptor that is open for reading. No byte after the line feed is read.
  ///   - limit: The largest number of bytes, 1024 by default.
  /// - Throws: ``MessageSendingError`` with code `.invalidArgument` for an empty or longer line, or `.storage` when the
  ///   descriptor cannot be read.
  public static func line(of descriptor: Int32, limit: Int = 1024) throws(MessageSendingError) -> SecretBytes {
    var count = 0
    var isEnded = false
    // One more than the limit, and one for a carriage return.
    let buffer = try SecretBytes(count: max(limit, 0) + 2) { memory throws(MessageSendingError) in
      while count < memory.count {
        // One at a time, so that what follows the line is left to others.
        let result = read(descriptor, memory.baseAddress! + count, 1)
        if result < 0, errno == EINTR { continue }
        guard result >= 0 else { throw MessageSendingError(.storage, "the secret could not be read", errno: errno) }
        isEnded = result == 1 && memory[count] == UInt8(ascii: "\n")
        if result == 0 || isEnded { break }
        count += 1
      }
      if isEnded, count > 0, memory[count - 1] == UInt8(ascii: "\r") { count -= 1 }
    }
    guard (1...max(limit, 1)).contains(count) else {
      throw MessageSendingError(
        .invalidArgument, count == 0 ? "the secret is empty" : "the secret is longer than \(limit) bytes")
    }
    return try SecretBytes(buffer, in: 0..<count)
  }

  /// Creates a copy of a range of other secret bytes.
  convenience init(_ other: SecretBytes, in range: Range<Int>) throws(MessageSendingError) {
    try self.init(count: range.count) { memory in
      other.withBytes { memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[range])) }
    }
  }
}
