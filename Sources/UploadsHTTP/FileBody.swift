import Glibc
internal import NIOCore
internal import Uploads

/// The bytes of a body as they are sent, read from the disk only when the connection takes them.
struct FileBody: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let slice: FileSlice
  /// Hears of each piece.
  let sent: @Sendable (UnsafeRawBufferPointer) -> Void

  func makeAsyncIterator() -> Iterator { Iterator(slice: slice, sent: sent) }

  struct Iterator: AsyncIteratorProtocol {
    private let slice: FileSlice
    private let sent: @Sendable (UnsafeRawBufferPointer) -> Void
    private var file: OpenFile?
    private var done: Int64 = 0
    /// Filled in turn: by then the connection has mostly done with the one before, and its memory is used again.
    private var buffers = [ByteBuffer(), ByteBuffer()]

    init(slice: FileSlice, sent: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) {
      (self.slice, self.sent) = (slice, sent)
    }

    mutating func next() async throws -> ByteBuffer? {
      let rest = slice.length - done
      guard rest > 0 else { return nil }
      if file == nil { file = try OpenFile(slice.path) }
      guard let file else { return nil }
      let length = Int(Swift.min(rest, Int64(FileReading.pieceLength)))
      let (path, place) = (slice.path, slice.offset + done)
      buffers.swapAt(0, 1)
      buffers[0].clear(minimumCapacity: length)
      try buffers[0].writeWithUnsafeMutableBytes(minimumWritableBytes: length) { bytes in
        var count = 0
        repeat { count = pread(file.number, bytes.baseAddress, length, off_t(place)) } while count < 0 && errno == EINTR
        guard count >= 0 else { throw UploadsError.disk("reading \(path)") }
        guard count > 0 else { throw UploadsError(.fileChanged, "\(path) has become shorter") }
        return count
      }
      done += Int64(buffers[0].readableBytes)
      buffers[0].withUnsafeReadableBytes(sent)
      return buffers[0]
    }
  }

  /// Closed with its last reference.
  private final class OpenFile: Sendable {
    let number: Int32
    init(_ path: String) throws { number = try FileReading.open(path) }
    deinit { close(number) }
  }
}
