import DeterministicTesting
import Foundation
import GRDB
import Streams
import SystemTesting
import Testing
import Timing
import UploadsTesting

@testable import Uploads

/// "Uploaded" holds for one server, and only as long as that server has the object.
@Suite("The server that an item belongs to", .timeLimit(.minutes(5))) struct IdentityTests {
  private let folder: TemporaryFolder
  private let store: QueueStore
  private let content: ObjectContent

  init() throws {
    folder = try TemporaryFolder()
    store = try QueueStore(path: folder.path + "/q.sqlite")
    content = try ObjectContent(readingFile: try folder.file("talk", 1000, seed: 1))
  }

  private func request(_ key: String = "talk", at endpoint: String? = nil) -> UploadRequest {
    var request = UploadRequest(content, bucket: "bucket", key: key, account: "a")
    request.endpoint = endpoint
    return request
  }

  private func queue(_ server: MemoryServer, at url: String) throws -> UploadQueue {
    UploadQueue(
      store, client: S3Client(try S3Endpoint(url), transport: server),
      accounts: ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(FastClock()))
  }

  /// Runs a queue until some items are done.
  private func run(_ queue: UploadQueue, untilDone ids: [Int64]) async throws {
    let running = Task { try await queue.run() }
    while try !ids.allSatisfy({ try store.item($0)?.state == .done }) {
      try await Task.sleep(for: .milliseconds(5), clock: .steady)
    }
    running.cancel()
    try await running.value
  }

  @Test("What one server has is sent to another one all the same") func anotherServerGetsItToo() async throws {
    let servers = [MemoryServer(), MemoryServer()]
    for (index, server) in servers.enumerated() {
      let queue = try queue(server, at: "http://host\(index)")
      try await run(queue, untilDone: try await queue.add([request()]))
    }
    #expect(servers.map { $0.writes(of: "bucket/talk") } == [1, 1])
    #expect(try store.items(in: [.done]).map(\.request.endpoint) == ["http://host0", "http://host1"])
  }

  @Test("An object that is gone is sent again by whoever adds or retries it", arguments: [false, true])
  func whatIsGoneIsSentAgain(_ isRetried: Bool) async throws {
    let server = MemoryServer()
    let ids = try store.add([request(at: "http://host")])
    try await run(try queue(server, at: "http://host"), untilDone: ids)
    server.remove("bucket/talk")
    if isRetried {
      try store.retry(ids[0])
    } else {
      #expect(try store.add([request(at: "http://host")]) == ids)
    }
    #expect(try store.item(ids[0])?.state == .waiting)
    try await run(try queue(server, at: "http://host"), untilDone: ids)
    #expect(server.object("bucket/talk")?.count == 1000)
    // What is there is not sent again.
    try store.retry(ids[0])
    try await run(try queue(server, at: "http://host"), untilDone: ids)
    #expect(server.writes(of: "bucket/talk") == 2)
  }

  @Test("An item goes only to its server, until a user moves it") func anItemGoesToItsServerAlone() async throws {
    let servers = [MemoryServer(), MemoryServer()]
    let ids = try store.add([request(at: "http://host0"), request("other", at: "http://host1")])
    try await run(try queue(servers[1], at: "http://host1"), untilDone: [ids[1]])
    #expect(try store.item(ids[0])?.state == .waiting)
    #expect(servers[1].object("bucket/talk") == nil)
    #expect(try store.serversInUse() == ["http://host0"])
    try store.move(ids[0], to: try S3Endpoint("http://host1"))
    // Who looks for unqueued files does not queue it there again.
    #expect(try store.knows(at: "http://host0", bucket: "bucket", key: "talk"))
    try await run(try queue(servers[1], at: "http://host1"), untilDone: ids)
    #expect(servers[1].object("bucket/talk")?.count == 1000)
    #expect(try store.serversInUse() == [])
  }

  @Test("A folder of recordings has a server, also before anything of it is queued") func foldersHaveServers() throws {
    let out = folder.path + "/out"
    try store.remember(UploadSource(folder: out, endpoint: "http://host0", bucket: "bucket", prefix: "", account: "a"))
    #expect(try store.serversInUse() == [])
    #expect(try store.otherServersInUse() == ["http://host0"])
  }

  @Test("Two items for one object of a server cannot be moved together") func movingDoesNotJoin() throws {
    let ids = try store.add([request(at: "http://host0"), request(at: "http://host1")])
    let error = #expect(throws: UploadsError.self) { try store.move(ids[0], to: try S3Endpoint("http://host1")) }
    #expect(error?.code == .alreadyExists)
    #expect(try store.item(ids[0])?.request.endpoint == "http://host0")
  }

  @Test("Parts of a dropped item are removed from the server") func droppedPartsAreAborted() async throws {
    let server = MemoryServer()
    let queue = try queue(server, at: "http://host")
    let large = try ObjectContent(readingFile: try folder.file("large", 17 << 20, seed: 2))
    let sent = try await S3Client(try S3Endpoint("http://host"), transport: server).createMultipart(
      large, bucket: "bucket", key: "large", credentials: MemoryServer.credentials)
    var wanted = UploadRequest(large, bucket: "bucket", key: "large", account: "a")
    wanted.endpoint = "http://host"
    let id = try store.add([wanted])[0]
    let item = try #require(try store.item(id))
    #expect(try store.record(item, at: "http://host", uploadID: sent.id, parts: []))
    try store.drop(id)
    #expect(server.unfinishedUploads == 1)
    let running = Task { try await queue.run() }
    while server.unfinishedUploads > 0 { try await Task.sleep(for: .milliseconds(5), clock: .steady) }
    running.cancel()
    try await running.value
  }

  /// Takes an item away from the queue's server, as a user would.
  private func take(_ id: Int64, isMoved: Bool) throws {
    if isMoved { try store.move(id, to: try S3Endpoint("http://other")) } else { try store.drop(id) }
  }

  /// Adds a file that goes in parts.
  private func addLarge(to queue: UploadQueue) async throws -> Int64 {
    let large = try ObjectContent(readingFile: try folder.file("large", 17 << 20, seed: 2))
    return try await queue.add([UploadRequest(large, bucket: "bucket", key: "large", account: "a")])[0]
  }

  @Test("An upload whose item is dropped or moved while the server creates it is aborted", arguments: [false, true])
  func newUploadsAreAborted(_ isMoved: Bool) async throws {
    let server = MemoryServer()
    let queue = try queue(server, at: "http://host")
    let id = try await addLarge(to: queue)
    let isTaken = Lock(false)
    server.intercept { request in
      // So that the upload cannot be completed.
      request.query.contains { $0.name == "partNumber" } ? MemoryServer.refusal(503, "SlowDown") : nil
    }
    server.afterwards { request in
      guard request.method == "POST" else { return }
      try take(id, isMoved: isMoved)
      isTaken.withLock { $0 = true }
    }
    let running = Task { try await queue.run() }
    try await eventually("it is taken") { isTaken.withLock { $0 } }
    try await eventually("the upload is aborted") { server.unfinishedUploads == 0 }
    running.cancel()
    try await running.value
    #expect(try store.item(id)?.uploadID == nil)
    #expect(try store.item(id)?.state == (isMoved ? .waiting : nil))
  }

  @Test("An upload whose attempt is cancelled before its ID arrives is one to abort", arguments: [false, true])
  func lateAnswers(_ isMoved: Bool) async throws {
    let server = MemoryServer()
    let slow = LateServer(server)
    let id = try await addLarge(to: try queue(server, at: "http://host"))
    let clock = TimeSource(ManualClock())
    let hasAbandoned = Lock(false)
    let uploader = ItemUploader(
      client: S3Client(try S3Endpoint("http://host"), transport: slow), store: store, plan: UploadPlan(),
      item: try #require(try store.begin(id)), credentials: MemoryServer.credentials,
      progress: UploadProgress(clock, requests: 3), clock: clock,
      hasAbandoned: { hasAbandoned.withLock { $0 = true } })
    let attempt = Task { try await uploader.run() }
    try await eventually("the server creates the upload") { server.unfinishedUploads == 1 }
    try take(id, isMoved: isMoved)
    attempt.cancel()
    slow.answer()
    await #expect(throws: CancellationError.self) { try await attempt.value }
    #expect(hasAbandoned.withLock { $0 })
    #expect(try store.abandonedUploads(at: "http://host").map(\.uploadID) == ["upload1"])
  }

  @Test("What is moved while the first server stores it is not called uploaded", arguments: [1000, 17 << 20])
  func movedMeanwhile(_ size: Int) async throws {
    let servers = [MemoryServer(), MemoryServer()]
    let queue = try queue(servers[0], at: "http://host")
    let content = try ObjectContent(readingFile: try folder.file("moved", size, seed: 3))
    let id = try await queue.add([UploadRequest(content, bucket: "bucket", key: "moved", account: "a")])[0]
    let isMoved = Lock(false)
    servers[0].afterwards { [weak first = servers[0]] request in
      guard first?.object("bucket/moved") != nil, !isMoved.withLock({ $0 }) else { return }
      isMoved.withLock { $0 = true }
      try take(id, isMoved: true)
    }
    let running = Task { try await queue.run() }
    try await eventually("the queue notices") { await queue.machine.ids.isEmpty }
    running.cancel()
    try await running.value
    #expect(try store.item(id)?.state == .waiting)
    try await run(try self.queue(servers[1], at: "http://other"), untilDone: [id])
    #expect(servers[1].object("bucket/moved")?.count == size)
  }

  @Test("A queue of an earlier version is migrated, and belongs to the first server that uploads it")
  func anEarlierQueueIsMigrated() async throws {
    let path = folder.path + "/old.sqlite"
    try earlierQueue(path)
    let store = try QueueStore(path: path)
    #expect(try store.item(7)?.request.endpoint == nil)
    #expect(try store.item(3)?.state == .done)
    let server = MemoryServer()
    let queue = UploadQueue(
      store, client: S3Client(try S3Endpoint("http://host"), transport: server),
      accounts: ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(FastClock()))
    let running = Task { try await queue.run() }
    while try store.item(7)?.state != .done { try await Task.sleep(for: .milliseconds(5), clock: .steady) }
    running.cancel()
    try await running.value
    #expect(try store.item(7)?.request.endpoint == "http://host")
    // Nobody knows which server had it.
    #expect(try store.item(3)?.request.endpoint == nil)
    // No ID is used twice, not even one that was dropped before.
    #expect(try store.add([request("new", at: "http://host")])[0] == 10)
    let lines = try store.read { try String.fetchAll($0, sql: "SELECT endpoint FROM manifestEntry") }
    #expect(lines.allSatisfy { $0 == "http://host" })
  }

  /// Makes a queue as version 0.1.0 left it: one item done, one waiting, one dropped, and a line of a manifest.
  private func earlierQueue(_ path: String) throws {
    let database = try DatabaseQueue(path: path)
    try QueueStore.migrator.migrate(database, upTo: "4: events with reasons")
    let print = try Fingerprint.of(content.path)
    try database.write { database in
      for (id, key, state) in [(3, "done", "done"), (7, "talk", "waiting"), (9, "dropped", "waiting")] {
        try database.execute(
          sql: """
            INSERT INTO item (id, bucket, key, account, path, fingerprint, size, sha256, contentType, metadata,
              isReplacing, afterwards, state, queuedAtMs) VALUES (?, 'bucket', ?, 'a', ?, ?, ?, ?, 'a/b', '{}', 0, 'keep', ?, 1)
            """, arguments: [id, key, content.path, print, content.size, content.sha256, state])
      }
      try database.execute(sql: "DELETE FROM item WHERE id = 9")
      try database.execute(
        sql: "INSERT INTO manifestEntry (bucket, manifest, account, line) VALUES ('bucket', 'm', 'a', '{}')")
    }
    try database.close()
  }
}

/// A server whose response to the request that creates an upload arrives late, and never if the request is cancelled.
private final class LateServer: S3Transport {
  private let server: MemoryServer
  private let hasAnswered = Lock(false)

  init(_ server: MemoryServer) { self.server = server }

  /// Has the response arrive.
  func answer() { hasAnswered.withLock { $0 = true } }

  func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Response {
    let response = try await server.send(request, progress)
    guard request.method == "POST" else { return response }
    try await eventually("the response arrives") { hasAnswered.withLock { $0 } }
    return response
  }
}
