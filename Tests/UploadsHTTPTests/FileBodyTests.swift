import Foundation
import Streams
import Testing
import Uploads
import UploadsTesting

@testable import UploadsHTTP

@Suite("The body of an upload") struct FileBodyTests {
  private enum Event: Hashable { case read, handOver }

  /// AsyncHTTPClient takes pieces faster than its connection sends them, and what waits in memory is no progress.
  @Test("The next piece is read when the connection has taken the last one") func piecesWait() async throws {
    let folder = try TemporaryFolder()
    let length = FileBody.pieceLength * 8 + 5
    let slice = FileSlice(path: try folder.file("f", Int(length), seed: 1), length: length)
    let events = Lock<[Event]>([])
    let bytes = Lock(Data())
    let body = FileBody(slice: slice, handOver: { events.withLock { $0.append(.handOver) } }) { piece in
      events.withLock { $0.append(.read) }
      bytes.withLock { $0.append(contentsOf: piece) }
    }
    for try await _ in body {}
    #expect(try bytes.withLock { $0 } == Data(contentsOf: URL(filePath: slice.path)))
    let seen = events.withLock { $0 }
    #expect(seen.count >= 17)
    #expect(seen == seen.indices.map { $0 % 2 == 0 ? .read : .handOver })
  }
}
