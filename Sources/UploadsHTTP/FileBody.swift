internal import NIOCore
internal import Uploads

/// The bytes of a request's body, read from the disk only when the connection takes them.
struct FileBody: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  /// The length of a piece, 64 KiB: on a slow connection each is a step of progress.
  static let pieceLength: Int64 = 64 << 10

  let slice: FileSlice
  /// Receives each piece before it is sent.
  let sent: @Sendable (UnsafeRawBufferPointer) -> Void

  func makeAsyncIterator() -> Iterator { Iterator(slice: slice, sent: sent) }

  struct Iterator: AsyncIteratorProtocol {
    private let slice: FileSlice
    private let sent: @Sendable (UnsafeRawBufferPointer) -> Void
    private var file: OpenFile?
    private var done: Int64 = 0
    /// Filled alternately: the connection is mostly done with the other one by then, and its memory is used again.
    private var buffers = [ByteBuffer(), ByteBuffer()]

    init(slice: FileSlice, sent: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) {
      self.slice = slice
      self.sent = sent
    }

    mutating func next() async throws -> ByteBuffer? {
      let rest = slice.length - done
      guard rest > 0 else { return nil }
      let file = try self.file ?? OpenFile(slice.path)
      self.file = file
      let length = Int(Swift.min(rest, FileBody.pieceLength))
      let offset = slice.offset + done
      buffers.swapAt(0, 1)
      buffers[0].clear(minimumCapacity: length)
      try buffers[0].writeWithUnsafeMutableBytes(minimumWritableBytes: length) { bytes in
        try file.read(UnsafeMutableRawBufferPointer(rebasing: bytes[..<length]), at: offset)
      }
      done += Int64(buffers[0].readableBytes)
      buffers[0].withUnsafeReadableBytes(sent)
      return buffers[0]
    }
  }
}
