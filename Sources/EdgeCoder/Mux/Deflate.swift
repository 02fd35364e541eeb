internal import CZlib

/// Compression of single texts with raw DEFLATE (RFC 1951).
enum Deflate {
  /// The length below which compression is not worth its time, in bytes.
  private static let shortest = 96

  /// Returns the compressed text, or `nil` if compression does not make it shorter.
  static func compressed(_ text: [UInt8]) -> [UInt8]? {
    guard text.count >= shortest else { return nil }
    var stream = z_stream()
    // The lowest level, because a radio is slower than any level. −15 is the full window without a header.
    let level = Z_BEST_SPEED
    guard
      deflateInit2_(
        &stream, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        == Z_OK
    else { return nil }
    defer { deflateEnd(&stream) }
    // One byte less than the text: a longer result is no gain.
    return filled(&stream, from: text, limit: text.count - 1) { deflate(&$0, Z_FINISH) }
  }

  /// Returns the decompressed text, or `nil` for corrupt bytes and for a text over the limit.
  static func expanded(_ bytes: [UInt8], limit: Int) -> [UInt8]? {
    var stream = z_stream()
    guard inflateInit2_(&stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
    defer { inflateEnd(&stream) }
    return filled(&stream, from: bytes, limit: limit) { inflate(&$0, Z_FINISH) }
  }

  private static func filled(
    _ stream: inout z_stream, from input: [UInt8], limit: Int, _ step: (inout z_stream) -> Int32
  ) -> [UInt8]? {
    var input = input
    return input.withUnsafeMutableBufferPointer { input -> [UInt8]? in
      stream.next_in = input.baseAddress
      stream.avail_in = UInt32(input.count)
      var isWhole = false
      let output = [UInt8](unsafeUninitializedCapacity: limit) { output, count in
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(limit)
        isWhole = step(&stream) == Z_STREAM_END && stream.avail_in == 0
        count = limit - Int(stream.avail_out)
      }
      return isWhole ? output : nil
    }
  }
}
