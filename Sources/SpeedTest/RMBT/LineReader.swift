/// A reader of lines that arrive in pieces of any length.
///
/// The bytes of one line are kept until its line feed arrives, up to the reader's limit. NUL bytes at the beginning
/// of a line are skipped, because one server sends such a byte before its greeting, and so is a carriage return at the
/// end.
package struct LineReader: Sendable {
  private var partial: [UInt8] = []
  private let limit: Int

  /// Creates a reader without any bytes.
  /// - Parameter limit: The largest number of bytes in a line.
  package init(limit: Int = RMBT.lineLimit) { self.limit = limit }

  /// A Boolean value that indicates whether the beginning of a line waits for its end.
  package var isWithinLine: Bool { !partial.isEmpty }

  /// Returns the next line; `nil` when its end is not among the bytes.
  /// - Parameters:
  ///   - bytes: The bytes that arrived.
  ///   - offset: The number of bytes consumed so far, which is advanced.
  /// - Throws: ``SpeedTestError`` with code `.invalidReply` for a line that is too long or no printable ASCII.
  package mutating func next(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) throws(SpeedTestError) -> String? {
    while offset < bytes.count {
      let byte = bytes[offset]
      offset += 1
      if byte == UInt8(ascii: "\n") { return try line() }
      if byte == 0, partial.isEmpty { continue }
      guard partial.count < limit else {
        throw SpeedTestError(.invalidReply, "a line has more than \(limit) bytes")
      }
      partial.append(byte)
    }
    return nil
  }

  private mutating func line() throws(SpeedTestError) -> String {
    defer { partial.removeAll(keepingCapacity: true) }
    if partial.last == UInt8(ascii: "\r") { partial.removeLast() }
    guard partial.allSatisfy({ (0x20...0x7e).contains($0) }) else {
      throw SpeedTestError(.invalidReply, "a line contains bytes that are not printable ASCII")
    }
    return String(decoding: partial, as: UTF8.self)
  }
}
