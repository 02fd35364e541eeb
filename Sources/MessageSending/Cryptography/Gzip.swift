internal import CZlib

/// The gzip format over bytes in memory.
enum Gzip {
  /// The window size with which zlib writes and reads gzip, and no other format.
  private static let window: Int32 = 15 + 16

  /// Returns the bytes as a gzip stream, as small as zlib makes it.
  static func compress(_ bytes: [UInt8]) throws(MessageSendingError) -> [UInt8] {
    var stream = z_stream()
    let version = ZLIB_VERSION
    let size = Int32(MemoryLayout<z_stream>.size)
    var result = deflateInit2_(
      &stream, Z_BEST_COMPRESSION, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY, version, size)
    guard result == Z_OK else { throw failure(result) }
    defer { deflateEnd(&stream) }
    var input = bytes
    var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
    result = run(&stream, &input, &output) { deflate($0, Z_FINISH) }
    wipe(&input)
    guard result == Z_STREAM_END else { throw failure(result) }
    output.removeLast(output.count - Int(stream.total_out))
    return output
  }

  /// Reads exactly one gzip stream.
  /// - Parameter limit: The largest number of bytes that it may expand to.
  /// - Returns: The bytes, or `nil` for what is no such stream, is longer, or expands further.
  static func expand(_ bytes: [UInt8], limit: Int) throws(MessageSendingError) -> [UInt8]? {
    var stream = z_stream()
    var result = inflateInit2_(&stream, window, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard result == Z_OK else { throw failure(result) }
    defer { inflateEnd(&stream) }
    var input = bytes
    // A byte more than allowed, which tells what ends there from what goes on.
    var output = [UInt8](repeating: 0, count: limit + 1)
    result = run(&stream, &input, &output) { inflate($0, Z_FINISH) }
    let count = Int(stream.total_out)
    guard result == Z_STREAM_END, stream.avail_in == 0, count <= limit else {
      wipe(&output)
      guard result != Z_MEM_ERROR else { throw failure(result) }
      return nil
    }
    output.removeLast(output.count - count)
    return output
  }

  private static func run(
    _ stream: inout z_stream, _ input: inout [UInt8], _ output: inout [UInt8],
    _ body: (UnsafeMutablePointer<z_stream>) -> Int32
  ) -> Int32 {
    input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(output.count)
        return body(&stream)
      }
    }
  }

  private static func failure(_ result: Int32) -> MessageSendingError {
    MessageSendingError(.cryptography, "zlib returned \(result)")
  }
}
