internal import NIOCore
internal import Timing
internal import Uploads

/// The bytes of a request's body, read from the disk only when the connection takes them.
struct FileBody: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  /// The length of a piece, 64 KiB.
  static let pieceLength: Int64 = 64 << 10
  /// The length of a piece until the connection is known to be quick: 16 KiB. On a slow one each is a step of progress.
  static let slowPieceLength: Int64 = 16 << 10
  /// The time within which a quick connection takes a piece: 500 ms.
  static let quickTime = Duration.milliseconds(500)
  /// The number of pieces in a row that a quick connection has taken in that time.
  static let quickPieces = 16

  let slice: FileSlice
  /// Waits until the connection has taken the last piece, or holds it back.
  let handOver: @Sendable () async -> Void
  /// Receives each piece before it is sent.
  let sent: @Sendable (UnsafeRawBufferPointer) -> Void

  func makeAsyncIterator() -> Iterator { Iterator(self) }

  struct Iterator: AsyncIteratorProtocol {
    private let body: FileBody
    private var file: OpenFile?
    private var done: Int64 = 0
    private var handedAt: Duration?
    /// The number of pieces in a row that were taken quickly.
    private var quick = 0
    /// Filled alternately: the connection is mostly done with the other one by then, and its memory is used again.
    private var buffers = [ByteBuffer(), ByteBuffer()]

    init(_ body: FileBody) { self.body = body }

    mutating func next() async throws -> ByteBuffer? {
      let rest = body.slice.length - done
      guard rest > 0 else { return nil }
      if handedAt != nil { await body.handOver() }
      let file = try self.file ?? OpenFile(body.slice.path)
      self.file = file
      let now = TimeSource.continuous.now
      quick = now - (handedAt ?? now) <= FileBody.quickTime ? quick + 1 : 0
      handedAt = now
      let limit = quick > FileBody.quickPieces ? FileBody.pieceLength : FileBody.slowPieceLength
      let length = Int(Swift.min(rest, limit))
      let offset = body.slice.offset + done
      buffers.swapAt(0, 1)
      buffers[0].clear(minimumCapacity: length)
      try buffers[0].writeWithUnsafeMutableBytes(minimumWritableBytes: length) { bytes in
        try file.read(UnsafeMutableRawBufferPointer(rebasing: bytes[..<length]), at: offset)
      }
      done += Int64(buffers[0].readableBytes)
      buffers[0].withUnsafeReadableBytes(body.sent)
      return buffers[0]
    }
  }
}
