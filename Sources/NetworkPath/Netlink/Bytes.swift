/// Bytes from an untrusted source: a read beyond the end returns `nil`.
struct Bytes {
  private let buffer: Slice<UnsafeRawBufferPointer>

  /// The memory must outlive this value and all values derived from it.
  init(_ buffer: UnsafeRawBufferPointer) {
    self.buffer = buffer[...]
  }

  private init(_ buffer: Slice<UnsafeRawBufferPointer>) {
    self.buffer = buffer
  }

  var count: Int { buffer.count }

  var array: [UInt8] { Array(buffer) }

  /// Returns a number or a structure of the kernel at an offset, which need not be aligned.
  func load<T: BitwiseCopyable>(_ type: T.Type = T.self, at offset: Int = 0) -> T? {
    guard offset >= 0, offset <= count, MemoryLayout<T>.size <= count - offset else { return nil }
    return UnsafeRawBufferPointer(rebasing: buffer).loadUnaligned(fromByteOffset: offset, as: type)
  }

  /// Returns a number of bytes from an offset.
  func part(from offset: Int, count length: Int) -> Bytes? {
    guard offset >= 0, length >= 0, offset <= count, length <= count - offset else { return nil }
    let start = buffer.startIndex + offset
    return Bytes(buffer[start..<start + length])
  }

  /// Returns all bytes from an offset; none if the offset lies beyond the end.
  func rest(from offset: Int) -> Bytes {
    Bytes(buffer.dropFirst(max(offset, 0)))
  }

  /// The text up to the first NUL, or to the end.
  var text: String { String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self) }
}
