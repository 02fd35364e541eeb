import Foundation
import Testing
import Timing
import UploadsTesting

@testable import Uploads

/// A server that ignores `If-None-Match` on `PUT`, and whose XML has roots of other names: `rclone serve s3`.
@Suite(
  "rclone serve s3", .enabled(if: Rclone.isThere, "needs rclone: scripts/python-peers"), .timeLimit(.minutes(5)))
struct RcloneTests {
  private let folder: TemporaryFolder
  private let server: Rclone

  init() async throws {
    folder = try TemporaryFolder()
    server = try await Rclone(folder)
  }

  private func upload(
    _ key: String, _ size: Int, seed: UInt64, as credentials: S3Credentials = Rclone.credentials,
    through client: S3Client? = nil,
    until isOver: (UploadItem?) -> Bool = { [.done, .failed].contains($0?.state) }
  ) async throws -> UploadItem {
    let run = try QueueRun(folder, client ?? server.client(), ["a": StaticCredentials(credentials)])
    let content = try ObjectContent(readingFile: try folder.file("f\(seed)", size, seed: seed))
    let id = try await run.queue.add([UploadRequest(content, bucket: "bucket", key: key, account: "a")])[0]
    let running = run.start()
    try await run.until { isOver(try $0.item(id)) }
    running.cancel()
    try await running.value
    let item = try #require(try run.store.item(id))
    if item.state == .done {
      let found: UploadServer.Condition = size < 1 << 20 ? .ignored : .unknown
      #expect(try run.store.servers().map(\.condition) == [found])
      #expect(try run.store.servers().map(\.completion) == [found])
    }
    return item
  }

  @Test("Objects arrive whole, in one request and in parts", arguments: [1000, 20 << 20])
  func objectsArrive(_ size: Int) async throws {
    let item = try await upload("new", size, seed: 1)
    #expect(item.state == .done, "\(item.problem ?? "")")
    let stored = try Data(contentsOf: URL(filePath: server.path + "/bucket/new"))
    #expect(stored == (try Data(contentsOf: URL(filePath: item.request.content.path))))
  }

  @Test("Another object is not replaced", arguments: [1000, 20 << 20]) func anotherObjectStays(_ size: Int) async throws
  {
    // Through the server, which looks at its folder only now and then.
    let theirs = Data("somebody's".utf8)
    let isPut = try await server.client().put(
      theirs, contentType: "text/plain", over: nil, bucket: "bucket", key: "taken", credentials: Rclone.credentials)
    #expect(isPut)
    let item = try await upload("taken", size, seed: 2)
    #expect(item.state == .failed)
    let stored = try await server.client().bytes(bucket: "bucket", key: "taken", credentials: Rclone.credentials)
    #expect(stored == theirs)
  }

  /// It refuses what is signed for another hour without the error code for that.
  @Test("A wrong local clock is corrected without a retry", arguments: [-7200, 7200] as [Int64])
  func aWrongClockIsCorrected(_ seconds: Int64) async throws {
    let client = try server.client { WallClock.unixMilliseconds() + seconds * 1000 }
    let item = try await upload("clock", 1000, seed: 4, through: client)
    #expect(item.state == .done, "\(item.problem ?? "")")
    #expect(item.attempts == 0, "\(item.problem ?? "")")
    #expect(abs(client.clockSkew + seconds) < 60)
  }

  @Test("A wrong secret is no missing permission") func aWrongSecretIsOne() async throws {
    let wrong = S3Credentials(accessKey: Rclone.credentials.accessKey, secretKey: "not the secret")
    let item = try await upload("wrong", 1000, seed: 3, as: wrong) { $0?.failure != nil }
    #expect(item.failure == .credentials, "\(item.problem ?? "")")
  }
}
