import Foundation
import Streams
import Testing
import Timing
import UploadsTesting

@testable import Uploads

/// Servers that ignore the condition that no object is replaced, as some do without a word.
@Suite("The objects of others", .timeLimit(.minutes(5))) struct ReplacementTests {
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
    // The server shows with a small object that it is not to be trusted with parts.
    #expect(try await upload("small", 1000).state == .done)
    let remark = try #require(try run.store.servers().first?.remark)
    #expect(remark.contains("does not keep the condition If-None-Match for objects in parts:"))
    #expect(try run.store.events().filter { $0.kind == .conditionIgnored }.map(\.reason) == [remark])
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

  @Test(
    "A server that cannot promise it is noticed once, for each way of creating objects",
    arguments: [[], [.put], [.complete], [.put, .complete]] as [Set<MemoryServer.Creation>])
  func theLimitationIsSaidOnce(_ ignored: Set<MemoryServer.Creation>) async throws {
    server.ignoreConditions(of: ignored)
    for number in 0..<3 { #expect(try await upload("\(number)", 1000, seed: UInt64(number)).state == .done) }
    let known = try run.store.servers()
    #expect(known.map(\.condition) == [ignored.contains(.put) ? .ignored : .kept])
    #expect(known.map(\.completion) == [ignored.contains(.complete) ? .ignored : .kept])
    #expect(known.compactMap(\.remark).isEmpty == ignored.isEmpty)
    let events = try run.store.events().filter { $0.kind == .conditionIgnored }
    #expect(events.map(\.times) == (ignored.isEmpty ? [] : [1]))
    #expect(server.writes(of: "bucket/2") == 1)
    #expect(server.unfinishedUploads == 0)
  }

  /// A server without parts, or credentials that do not permit them.
  @Test("A server that refuses the question is asked once") func theQuestionIsRefused() async throws {
    let count = Lock(0)
    server.intercept { request in
      guard request.method == "POST" else { return nil }
      count.withLock { $0 += 1 }
      return MemoryServer.refusal(501, "NotImplemented")
    }
    let contents = try (0..<3).map { try ObjectContent(readingFile: try folder.file("\($0)", 1000, seed: UInt64($0))) }
    let ids = try await run.queue.add(
      contents.enumerated().map { UploadRequest($1, bucket: "bucket", key: "\($0)", account: "a") })
    try await run.untilFinished(ids)
    #expect(try ids.allSatisfy { try run.store.item($0)?.state == .done })
    #expect(count.withLock { $0 } == 1)
    #expect(try run.store.servers().map(\.completion) == [.unknown])
  }

  /// Such credentials may write, and not look whether an object exists.
  private func refuseLooks() {
    server.intercept { request in
      ["HEAD", "GET"].contains(request.method) ? MemoryServer.refusal(403, "AccessDenied") : nil
    }
  }

  @Test(
    "Without a look a large file goes in parts only where the server is known to keep the condition",
    arguments: [false, true])
  func largeFilesWithoutALook(_ isKnown: Bool) async throws {
    if isKnown { #expect(try await upload("small", 1000).state == .done) }
    refuseLooks()
    let parts = Lock(0)
    server.afterwards { request in
      if request.query.contains(where: { $0.name == "partNumber" }) { parts.withLock { $0 += 1 } }
    }
    #expect(try await upload("large", 17 << 20).state == .done)
    #expect(server.object("bucket/large")?.count == 17 << 20)
    #expect(parts.withLock { $0 } == (isKnown ? 4 : 0))
  }

  @Test("Without a look the object of somebody else stays, although the server ignores the condition on completing")
  func unseenObjectsStay() async throws {
    server.ignoreConditions(of: [.complete])
    server.put("somebody's".utf8, as: "bucket/unseen")
    refuseLooks()
    let content = try ObjectContent(readingFile: try folder.file("unseen", 17 << 20, seed: 1))
    let id = try await run.queue.add([UploadRequest(content, bucket: "bucket", key: "unseen", account: "a")])[0]
    let running = run.start()
    try await run.until { try $0.item(id)?.failure != nil }
    running.cancel()
    try await running.value
    #expect(try run.store.item(id)?.failure == .permission)
    #expect(server.object("bucket/unseen") == Array("somebody's".utf8))
  }
}
