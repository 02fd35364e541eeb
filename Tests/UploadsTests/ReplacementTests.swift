import Foundation
import Streams
import Testing
import Timing
import UploadsTesting

@testable import Uploads

/// Servers that ignore the condition that no object is replaced, as some do without a word.
@Suite("The objects of others", .timeLimit(.minutes(2))) struct ReplacementTests {
  private let folder: TemporaryFolder
  private let server = MemoryServer()
  private let run: QueueRun

  init() throws {
    folder = try TemporaryFolder()
    run = try QueueRun(
      folder, S3Client(try S3Endpoint("http://host"), transport: server),
      ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(FastClock()))
  }

  private func upload(_ key: String, _ size: Int, seed: UInt64 = 1) async throws -> UploadItem {
    let content = try ObjectContent(readingFile: try folder.file("\(key)-\(seed)", size, seed: seed))
    // Each in a process of its own, as it were.
    let again = UploadQueue(
      run.store, client: S3Client(try S3Endpoint("http://host"), transport: server),
      accounts: ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(FastClock()))
    let ids = try await again.add([UploadRequest(content, bucket: "bucket", key: key, account: "a")])
    let running = Task { try await again.run() }
    try await run.untilFinished(ids, running)
    return try #require(try run.store.item(ids[0]))
  }

  @Test("Another object is never replaced, whatever the server ignores", arguments: [1000, 17 << 20])
  func anotherObjectStays(_ size: Int) async throws {
    server.ignoreConditions(of: Set(MemoryServer.Creation.allCases))
    server.put("somebody's".utf8, as: "bucket/taken")
    let item = try await upload("taken", size)
    #expect(item.state == .failed)
    #expect(item.problem?.contains("another object exists") == true)
    #expect(server.object("bucket/taken") == Array("somebody's".utf8))
    #expect(server.writes(of: "bucket/taken") == 0)
  }

  /// The parts take long; meanwhile another program creates the object.
  @Test("An object that appears while parts are sent is not replaced") func anObjectThatAppearsStays() async throws {
    server.ignoreConditions(of: [.complete])
    server.afterwards { [weak server] request in
      guard request.query.contains(where: { $0.name == "partNumber" }) else { return }
      server?.put("somebody's".utf8, as: "bucket/raced")
    }
    let item = try await upload("raced", 17 << 20)
    #expect(item.state == .failed)
    #expect(item.problem?.contains("another object exists") == true, "\(item.problem ?? "")")
    #expect(server.object("bucket/raced") == Array("somebody's".utf8))
  }

  /// It comes between the last look and the upload, and takes the place of ours.
  @Test(
    "An object that takes the place of the uploaded one is not called uploaded, even if it has its size",
    arguments: [10, 1000])
  func whatWasReplacedIsNotClaimed(length: Int) async throws {
    let other = [UInt8](repeating: 7, count: length)
    server.ignoreConditions(of: [.put])
    let isRaced = Lock(false)
    server.afterwards { [weak server] request in
      guard request.method == "PUT", !isRaced.withLock({ $0 }) else { return }
      isRaced.withLock { $0 = true }
      server?.put(other, as: "bucket/raced")
    }
    let item = try await upload("raced", 1000)
    #expect(item.state == .failed)
    #expect(server.object("bucket/raced") == other)
  }

  @Test("A server that cannot promise it is noticed once", arguments: [false, true])
  func theLimitationIsSaidOnce(_ isIgnoring: Bool) async throws {
    if isIgnoring { server.ignoreConditions(of: [.put]) }
    for number in 0..<3 { #expect(try await upload("\(number)", 1000, seed: UInt64(number)).state == .done) }
    let known = try run.store.servers()
    #expect(known.map(\.condition) == [isIgnoring ? .ignored : .kept])
    #expect(known.compactMap(\.remark).isEmpty == !isIgnoring)
    let events = try run.store.events().filter { $0.kind == .conditionIgnored }
    #expect(events.map(\.times) == (isIgnoring ? [1] : []))
    #expect(server.writes(of: "bucket/2") == 1)
  }
}
