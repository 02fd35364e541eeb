import Foundation
import Streams
import SystemTesting
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

  /// By itself the kernel takes megabytes, and they would count as sent for as long as a slow line needs for them.
  @Test("What waits in the kernel for a peer that takes nothing is no progress", .timeLimit(.minutes(5)))
  func stalledPeers() async throws {
    let folder = try TemporaryFolder()
    let port = try LoopbackPort.free()
    let listener = LoopbackPort.makeSocket()
    defer { close(listener) }
    var room: Int32 = 16 << 10
    #expect(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size)) == 0)
    // The kernel accepts the connection, and nobody reads from it.
    #expect(LoopbackPort.withAddress(port) { bind(listener, $0, $1) } == 0)
    #expect(listen(listener, 1) == 0)
    let length: Int64 = 8 << 20
    var request = S3Request("PUT", scheme: "http", authority: "127.0.0.1:\(port)", path: "/bucket/key")
    request.body = .file(FileSlice(path: try folder.file("f", Int(length), seed: 1), length: length))
    let sent = Lock(0)
    let error = await #expect(throws: UploadsError.self) {
      let transport = try S3HTTPTransport(stallLimit: .seconds(2))
      return try await transport.send(request, S3Progress(sent: { bytes in sent.withLock { $0 += bytes.count } }))
    }
    #expect(error?.code == .interrupted, "\(String(describing: error))")
    #expect((1..<1 << 20).contains(sent.withLock { $0 }), "\(sent.withLock { $0 })")
  }
}
