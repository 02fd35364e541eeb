import DeterministicTesting
import Foundation
import Streams
import SystemTesting
import Testing
import Timing
import UploadsTesting

@testable import Uploads

/// A user corrects the file with the credentials; the queue looks at it every 30 s while something waits for that.
@Suite("Corrected credentials", .timeLimit(.minutes(5))) struct CorrectedCredentialsTests {
  private let folder: TemporaryFolder
  private let server = MemoryServer()
  private let clock = ManualClock()
  private let run: QueueRun
  private let refused = Lock(0)

  init() throws {
    folder = try TemporaryFolder()
    var options = UploadQueue.Options()
    options.random = { 1 }
    run = try QueueRun(
      folder, S3Client(try S3Endpoint("http://host"), transport: server),
      ["a": FileCredentials(path: folder.path + "/credentials")], clock: TimeSource(clock), options: options)
    try write("OLD")
  }

  private func write(_ key: String) throws {
    let text = "[default]\naws_access_key_id = \(key)\naws_secret_access_key = SECRET\n"
    try Data(text.utf8).write(to: URL(filePath: folder.path + "/credentials"))
  }

  /// Has the server refuse some requests of the old credentials.
  private func refuse(_ status: Int, _ code: String, where isMeant: @escaping @Sendable (S3Request) -> Bool) {
    server.intercept { [refused] request in
      let isOld = request.headers.contains { $0.name == "Authorization" && $0.value.contains("Credential=OLD/") }
      guard isOld, isMeant(request) else { return nil }
      refused.withLock { $0 += 1 }
      return MemoryServer.refusal(status, code)
    }
  }

  /// Corrects the file when the server has refused what it has, and moves the clock to the next look at it.
  private func correct() async throws {
    try await eventually("the old credentials are refused") { refused.withLock { $0 } > 0 }
    // Nothing has moved the clock: this is 30 s after the last look.
    await clock.waitForSleeper(until: .seconds(30))
    try write("NEW")
    clock.advance(by: .seconds(30))
  }

  @Test(
    "An item is uploaded 30 s after the file is corrected at the latest",
    arguments: [(403, "AccessDenied", .permission), (403, "InvalidAccessKeyId", .credentials)]
      as [(Int, String, FailureKind)])
  func items(status: Int, code: String, kind: FailureKind) async throws {
    refuse(status, code) { _ in true }
    let content = try ObjectContent(readingFile: try folder.file("f", 10, seed: 1))
    let id = try run.store.add([UploadRequest(content, bucket: "bucket", key: "k", account: "a")])[0]
    let running = run.start()
    try await run.until { try $0.item(id)?.failure == kind }
    try await correct()
    try await run.untilFinished([id], running)
    #expect(try run.store.item(id)?.state == .done)
    #expect(clock.now.offset == .seconds(30))
  }

  @Test("Parts of a dropped item are removed 30 s after the file is corrected at the latest")
  func aborts() async throws {
    let content = try ObjectContent(readingFile: try folder.file("f", 10, seed: 1))
    let upload = try await S3Client(try S3Endpoint("http://host"), transport: server).createMultipart(
      content, bucket: "bucket", key: "k", credentials: MemoryServer.credentials)
    let id = try run.store.add([UploadRequest(content, bucket: "bucket", key: "k", account: "a")])[0]
    let item = try #require(try run.store.item(id))
    #expect(try run.store.record(item, at: "http://host", uploadID: upload.id, parts: []))
    try run.store.drop(id)
    refuse(403, "AccessDenied") { $0.method == "DELETE" }
    let running = run.start()
    try await correct()
    try await eventually("the parts are removed") { server.unfinishedUploads == 0 }
    running.cancel()
    try await running.value
    #expect(clock.now.offset == .seconds(30))
  }
}
