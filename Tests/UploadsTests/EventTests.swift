import DeterministicTesting
import Foundation
import GRDB
import Streams
import SystemTesting
import Testing
import Timing
import UploadsTesting

@testable import Uploads

/// The events that the store keeps, with their reasons.
@Suite("Events", .timeLimit(.minutes(5))) struct EventTests {
  private let folder: TemporaryFolder
  private let now = Lock<Int64>(1000)
  init() throws { folder = try TemporaryFolder() }

  private func store(_ count: Int) throws -> (store: QueueStore, ids: [Int64]) {
    let store = try QueueStore(path: folder.path + "/q.sqlite") { [now] in now.withLock { $0 } }
    let content = try ObjectContent(readingFile: try folder.file("f", 10, seed: 1))
    let ids = try store.add((0..<count).map { UploadRequest(content, bucket: "bucket", key: "\($0)", account: "a") })
    return (store, ids)
  }

  private func fail(_ id: Int64, _ problem: String, _ store: QueueStore) throws {
    _ = try store.begin(id)
    try store.postpone(id, attempts: 1, after: .zero, UploadFailure(kind: .network, reason: problem))
    now.withLock { $0 += 10 }
  }

  @Test("Each event has a kind, a subject and a reason") func eachSaysWhatAndWhy() throws {
    let (store, ids) = try store(2)
    try fail(ids[0], "nothing answers", store)
    _ = try store.begin(ids[0])
    try store.giveUp(ids[0], "no such bucket")
    try store.retry(ids[0])
    try store.pause(ids[1])
    try store.resume(ids[1])
    try store.setPaused(true)
    try store.setPaused(false)
    try store.record(account: "a", .credentialsMissing, "no file")
    try store.drop(ids[1])
    _ = try store.begin(ids[0])
    try store.finish(ids[0], as: .done)
    let events = try store.events()
    #expect(
      events.map(\.kind) == [
        .failed, .gaveUp, .retried, .paused, .resumed, .paused, .resumed, .credentialsMissing, .dropped, .done,
      ])
    #expect(events.map(\.item) == [ids[0], ids[0], ids[0], ids[1], ids[1], nil, nil, nil, ids[1], ids[0]])
    #expect(events.map(\.account) == [nil, nil, nil, nil, nil, nil, nil, "a", nil, nil])
    #expect(events[0].failure == .network)
    #expect(events[0].reason == "nothing answers")
    #expect(events[1].failure == .final)
    #expect(events[1].reason == "no such bucket")
    #expect(events[7].reason == "no file")
    // A dropped item keeps its events.
    #expect(events[8].object == "bucket/1")
    #expect(try store.events(item: ids[1]).map(\.kind) == [.paused, .resumed, .dropped])
    #expect(try store.events(limit: 1) == [events[9]])
  }

  /// A night without a network does not displace earlier events.
  @Test("A repeated event is counted") func theSameAgainIsCounted() throws {
    let (store, ids) = try store(2)
    for _ in 0..<5 {
      try fail(ids[0], "nothing answers", store)
      try fail(ids[1], "nothing answers", store)
    }
    try fail(ids[0], "no name", store)
    try fail(ids[0], "nothing answers", store)
    let events = try store.events()
    #expect(events.map(\.item) == [ids[0], ids[1], ids[0], ids[0]])
    #expect(events.map(\.times) == [5, 5, 1, 1])
    #expect(events[0].atMs == 1000)
    #expect(events[0].lastAtMs == 1080)
  }

  @Test("Only the last events are kept") func onlySoManyAreKept() throws {
    let (store, ids) = try store(2)
    for _ in 0..<(QueueStore.eventLimit / 2 + 10) {
      try store.pause(ids[0])
      try store.resume(ids[0])
    }
    try store.pause(ids[1])
    let events = try store.events()
    #expect(events.count == QueueStore.eventLimit)
    #expect(events.last?.item == ids[1])
  }

  @Test("Missing, found, refused and replaced credentials are recorded") func whatBecomesOfCredentialsIsTold()
    async throws
  {
    let server = MemoryServer()
    let clock = ManualClock()
    var options = UploadQueue.Options()
    options.random = { 1 }
    let provider = Provider()
    let run = try QueueRun(
      folder, S3Client(try S3Endpoint("http://host"), transport: server), ["a": provider], clock: TimeSource(clock),
      options: options)
    server.intercept { request in
      let isOld = request.headers.contains { $0.name == "Authorization" && $0.value.contains("Credential=OLD/") }
      return isOld ? MemoryServer.refusal(403, "InvalidAccessKeyId") : nil
    }
    let content = try ObjectContent(readingFile: try folder.file("f", 10, seed: 1))
    let ids = try run.store.add([UploadRequest(content, bucket: "bucket", key: "k", account: "a")])
    let running = run.start()
    func until(_ kinds: [UploadEvent.Kind]) async throws {
      try await eventually("the credentials change as expected") {
        clock.advance(by: .seconds(1))
        return try run.store.events().filter { $0.account != nil }.map(\.kind) == kinds
      }
    }
    try await until([.credentialsMissing])
    provider.key.withLock { $0 = "OLD" }
    try await until([.credentialsMissing, .credentialsFound, .credentialsMissing])
    provider.key.withLock { $0 = "NEW" }
    try await until([.credentialsMissing, .credentialsFound, .credentialsMissing, .credentialsFound])
    try await run.untilFinished(ids, running)
    let reasons = try run.store.events().filter { $0.kind == .credentialsMissing }.map(\.reason)
    #expect(reasons == ["there is no file", "the server refuses them"])
    #expect(try run.store.item(ids[0])?.state == .done)
  }

  @Test("Events of an earlier version are kept") func whatAnEarlierVersionNotedIsKept() throws {
    let path = folder.path + "/old.sqlite"
    do {
      let database = try DatabaseQueue(path: path)
      try QueueStore.migrator.migrate(database, upTo: "2: manifests")
      try database.write {
        try $0.execute(sql: "INSERT INTO event (atMs, item, text) VALUES (7, 3, 'failed (network): nothing answers')")
      }
    }
    let events = try QueueStore(path: path).events()
    #expect(events.map(\.reason) == ["failed (network): nothing answers"])
    #expect(events.map(\.kind) == [.earlier])
    #expect(events.map(\.item) == [3])
    #expect(events.map(\.atMs) == [7])
  }
}

/// Credentials that exist after the test has set them.
private final class Provider: CredentialsProvider {
  let key = Lock<String?>(nil)
  let name = "the test"

  func credentials() async throws -> S3Credentials {
    guard let key = key.withLock({ $0 }) else { throw UploadsError(.noCredentials, "there is no file") }
    return S3Credentials(accessKey: key, secretKey: "SECRET")
  }
}
