/// Bytes that nobody vouches for: what does not fit reads as `nil`, never past the end.
struct Bytes {
  private let buffer: Slice<UnsafeRawBufferPointer>

  /// The memory must outlive this value and all that are cut from it.
  init(_ buffer: UnsafeRawBufferPointer) {
    self.buffer = buffer[...]
  }

  private init(_ buffer: Slice<UnsafeRawBufferPointer>) {
    self.buffer = buffer
  }

  var count: Int { buffer.count }

  var array: [UInt8] { Array(buffer) }

  /// A number or a structure of the kernel at an offset, which need not be aligned.
  func load<T: BitwiseCopyable>(_ type: T.Type = T.self, at offset: Int = 0) -> T? {
    guard offset >= 0, offset <= count, MemoryLayout<T>.size <= count - offset else { return nil }
    return UnsafeRawBufferPointer(rebasing: buffer).loadUnaligned(fromByteOffset: offset, as: type)
  }

  /// So many bytes from an offset.
  func part(from offset: Int, count length: Int) -> Bytes? {
    guard offset >= 0, length >= 0, offset <= count, length <= count - offset else { return nil }
    let start = buffer.startIndex + offset
    return Bytes(buffer[start..<start + length])
  }

  /// All bytes from an offset; none when it lies behind the end.
  func rest(from offset: Int) -> Bytes {
    Bytes(buffer.dropFirst(max(offset, 0)))
  }

  /// A text that ends at the first zero, or at the end.
  var text: String { String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self) }
}
