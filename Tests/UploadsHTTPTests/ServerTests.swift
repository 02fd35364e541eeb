import DeterministicTesting
import Foundation
import SystemTesting
import Testing
import Timing
import UploadsHTTP
import UploadsTesting

@testable import Uploads

@Suite(
  "The client and the queue at a real S3 server",
  .enabled(if: SeaweedFS.isThere, "needs SeaweedFS: scripts/python-peers"), .timeLimit(.minutes(5)))
struct ServerTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func put(
    _ client: S3Client, _ key: String, _ bytes: Int, seed: UInt64, replacing: Bool = false,
    metadata: [String: String] = [:]
  ) async throws -> UploadItem {
    let file = try folder.file("f\(seed)", bytes, seed: seed)
    let request = UploadRequest(
      try ObjectContent(readingFile: file, metadata: metadata), bucket: SeaweedFS.bucket, key: key, account: "a",
      isReplacing: replacing)
    let run = try QueueRun(folder, client, ["a": StaticCredentials(SeaweedFS.writer)])
    let ids = try await run.queue.add([request])
    try await run.untilFinished(ids)
    return try #require(try run.store.item(ids[0]))
  }

  /// SeaweedFS keeps keys as paths and lists some of them as others; what is written, read and removed is right.
  @Test(
    "Every key can be written, found and deleted",
    arguments: [
      ("plain.wav", true), ("with blanks and + signs?&=#%25.wav", true), ("ünïcødé/日本語/👩🏽‍🚀.wav", true),
      ("e\u{301} is not \u{e9}", true), ("tab\tand\u{1}control", true), ("a//b", false),
      ("'quotes\" and \\ <tags>;:@,$*!()[]{}|^`~", false),
    ])
  func everyKeyCanBeWrittenFoundAndRemoved(_ name: String, isListed: Bool) async throws {
    let server = try await SeaweedFS.running()
    let client = try server.client()
    let key = "keys/" + name
    let item = try await put(client, key, 1000, seed: UInt64(name.utf8.count))
    #expect(item.state == .done, "\(item.problem ?? "")")
    #expect(try await server.bytes(of: key) == Data(contentsOf: URL(filePath: item.request.content.path)))
    let page = try await client.list(bucket: SeaweedFS.bucket, prefix: "keys/", credentials: SeaweedFS.writer)
    if isListed {
      let entry = page.entries.first { $0.key.utf8.elementsEqual(key.utf8) }
      #expect(entry?.size == 1000)
    }
    try await client.delete(bucket: SeaweedFS.bucket, key: key, credentials: SeaweedFS.writer)
    #expect(try await client.head(bucket: SeaweedFS.bucket, key: key, credentials: SeaweedFS.writer) == nil)
  }

  @Test("Files of every size arrive complete", arguments: [0, 1, 16 << 20 - 1, 16 << 20, 20 << 20 + 7])
  func everySizeArrivesWhole(_ size: Int) async throws {
    let server = try await SeaweedFS.running()
    let item = try await put(
      try server.client(), "sizes/\(size)", size, seed: UInt64(size), metadata: ["name": "Zoë % 100", "day": "1"])
    #expect(item.state == .done, "\(item.problem ?? "")")
    #expect(try await server.bytes(of: "sizes/\(size)") == Data(contentsOf: URL(filePath: item.request.content.path)))
    #expect(try await server.client().presence(of: item, credentials: SeaweedFS.reader) == .same)
  }

  @Test("A different object is replaced only if the request says so") func anotherObjectIsReplacedOnlyWhenThatIsWanted()
    async throws
  {
    let server = try await SeaweedFS.running()
    let key = "replaced"
    let client = try server.client()
    #expect(try await put(client, key, 100, seed: 1).state == .done)
    let second = try await put(client, key, 200, seed: 2)
    #expect(second.state == .failed)
    #expect(second.problem?.contains("another object") == true)
    #expect(try await server.bytes(of: key).count == 100)
    #expect(try await put(client, key, 300, seed: 3, replacing: true).state == .done)
    #expect(try await server.bytes(of: key).count == 300)
    // What is there already is not sent again, whoever asks.
    let proxy = try FaultProxy(before: server.port)
    let again = try await put(try server.client(through: proxy.port), key, 300, seed: 3)
    #expect(again.state == .done)
    #expect(proxy.partsOfQuestion.count <= 1)
    #expect(proxy.writtenObjects.isEmpty)
  }

  @Test("A presigned URL permits reading without credentials") func aSignedAddressLetsAnybodyRead() async throws {
    let server = try await SeaweedFS.running()
    let key = "signed/ä b.bin"
    let client = try server.client()
    let item = try await put(client, key, 500, seed: 9)
    let url = try client.presignedGet(
      bucket: SeaweedFS.bucket, key: key, lifetime: 60, credentials: SeaweedFS.reader,
      at: WallClock.unixMilliseconds() / 1000)
    let curl = try ChildProcess("curl", ["-sf", url, "-o", folder.path + "/got"])
    #expect(await curl.outcome().status == 0)
    #expect(
      try Data(contentsOf: URL(filePath: folder.path + "/got"))
        == Data(contentsOf: URL(filePath: item.request.content.path)))
  }

  /// A list of three pages, as the server makes them.
  @Test("A list on several pages is complete") func listsGoOn() async throws {
    let server = try await SeaweedFS.running()
    let client = try server.client()
    for name in ["a", "b", "c"] { #expect(try await put(client, "pages/\(name)", 10, seed: 10).state == .done) }
    var keys = [String]()
    var token = String?.none
    repeat {
      let page = try await client.list(
        bucket: SeaweedFS.bucket, prefix: "pages/", after: token, limit: 1, credentials: SeaweedFS.reader)
      #expect(page.entries.count <= 1)
      keys += page.entries.map(\.key)
      token = page.next
    } while token != nil
    #expect(keys == ["pages/a", "pages/b", "pages/c"])
  }

  /// Each reads the manifest, adds its lines and writes it, under conditions that the server checks.
  @Test("Several hosts write one manifest without losing lines") func severalMachinesWriteOneManifest() async throws {
    let server = try await SeaweedFS.running()
    let content = try ObjectContent(readingFile: try folder.file("m", 100, seed: 1))
    var options = UploadQueue.Options()
    options.pollInterval = .seconds(1000)
    let runs = try (0..<4).map { _ in
      try QueueRun(
        folder, server.client(), ["a": StaticCredentials(SeaweedFS.writer)], clock: TimeSource(FastClock()),
        options: options)
    }
    for (number, run) in runs.enumerated() {
      try await run.queue.add(
        (0..<3).map { item in
          var request = UploadRequest(content, bucket: SeaweedFS.bucket, key: "fleet/\(number)-\(item)", account: "a")
          request.manifest = "fleet/manifest.ndjson"
          return request
        })
    }
    let running = runs.map { $0.start() }
    for run in runs { try await run.until { try $0.totals().items == [.done: 3] && $0.unwrittenManifests().isEmpty } }
    for task in running {
      task.cancel()
      try await task.value
    }
    let text = String(decoding: try await server.bytes(of: "fleet/manifest.ndjson"), as: UTF8.self)
    let entries = try text.split(separator: "\n").map {
      try JSONDecoder().decode(ManifestEntry.self, from: Data($0.utf8))
    }
    #expect(entries.map(\.key) == (0..<4).flatMap { number in (0..<3).map { "fleet/\(number)-\($0)" } })
  }

  @Test("A wrong local clock is corrected without a retry", arguments: [-7200, 7200] as [Int64])
  func aClockThatIsWrongIsNoticed(_ seconds: Int64) async throws {
    let server = try await SeaweedFS.running()
    let client = S3Client(
      try S3Endpoint("http://127.0.0.1:\(server.port)"), transport: try S3HTTPTransport(),
      unixMs: { WallClock.unixMilliseconds() + seconds * 1000 })
    let item = try await put(client, "clock/\(seconds)", 100, seed: 5)
    #expect(item.state == .done, "\(item.problem ?? "")")
    #expect(item.attempts == 0, "\(item.problem ?? "")")
    #expect(abs(client.clockSkew + seconds) < 60)
  }

  /// An upload in parts that a killed program has begun and not noted; the wall clock says that it was two days ago.
  @Test("Unfinished multipart uploads of this queue are aborted, and no others")
  func forgottenUploadsInPartsAreAborted() async throws {
    let server = try await SeaweedFS.running()
    let key = "forgotten"
    let client = try server.client()
    let path = try folder.file("g", 6 << 20, seed: 1)
    let content = try ObjectContent(readingFile: path)
    let stranger = try await client.createMultipart(
      content, bucket: SeaweedFS.bucket, key: "stranger", credentials: SeaweedFS.writer)
    _ = try await client.createMultipart(content, bucket: SeaweedFS.bucket, key: key, credentials: SeaweedFS.writer)
    let clock = ManualClock()
    let run = try QueueRun(
      folder, client, ["a": StaticCredentials(SeaweedFS.writer)], clock: TimeSource(clock),
      unixMs: { WallClock.unixMilliseconds() + 2 * 86_400_000 })
    let ids = try await run.queue.add([UploadRequest(content, bucket: SeaweedFS.bucket, key: key, account: "a")])
    let running = run.start()
    try await run.until { try $0.item(ids[0])?.state == .done }
    await clock.advance(toSleeperAt: .seconds(60))
    func left() async throws -> [String] {
      try await client.unfinishedUploads(bucket: SeaweedFS.bucket, credentials: SeaweedFS.writer)
        .filter { [key, "stranger"].contains($0.key) }.map(\.key)
    }
    while try await left() != ["stranger"] { try await Task.sleep(for: .milliseconds(20), clock: .steady) }
    running.cancel()
    try await running.value
    try await client.abortMultipart(
      stranger.id, bucket: SeaweedFS.bucket, key: "stranger", credentials: SeaweedFS.writer)
    #expect(try await left() == [])
  }

  @Test("Items wait for accepted credentials") func credentialsThatAreRefusedAreWaitedFor() async throws {
    let server = try await SeaweedFS.running()
    let file = folder.path + "/credentials"
    func write(_ secret: String) throws {
      let text = "[default]\naws_access_key_id = WRITER\naws_secret_access_key = \(secret)\n"
      try Data(text.utf8).write(to: URL(filePath: file))
    }
    try write("not it")
    let clock = ManualClock()
    let run = try QueueRun(folder, server.client(), ["a": FileCredentials(path: file)], clock: TimeSource(clock))
    let path = try folder.file("c", 1000, seed: 1)
    let ids = try await run.queue.add(
      (0..<3).map { number in
        UploadRequest(
          try ObjectContent(readingFile: path), bucket: SeaweedFS.bucket, key: "refused/\(number)", account: "a")
      })
    let running = run.start()
    // The source has no others: it is asked again in 30 s, and nobody asks the server meanwhile.
    await clock.waitForSleeper(until: AccountCredentials.retryDelay)
    try write(SeaweedFS.writer.secretKey)
    await clock.advance(toSleeperAt: AccountCredentials.retryDelay)
    try await run.untilFinished(ids, running)
    for id in ids {
      let item = try #require(try run.store.item(id))
      #expect(item.state == .done)
      #expect(item.attempts == 0)
    }
    #expect(await run.queue.status.counters.failures[.credentials] ?? 0 <= 3)
  }

  @Test("An account without permission waits, and others do not") func anAccountThatMayNotWriteWaitsAndOthersDoNot()
    async throws
  {
    let server = try await SeaweedFS.running()
    let path = try folder.file("d", 1000, seed: 1)
    let accounts = ["reader": StaticCredentials(SeaweedFS.reader), "writer": StaticCredentials(SeaweedFS.writer)]
    let run = try QueueRun(folder, server.client(), accounts)
    let ids = try await run.queue.add(
      ["reader", "writer", "nobody"].map { account in
        UploadRequest(
          try ObjectContent(readingFile: path), bucket: SeaweedFS.bucket, key: "accounts/\(account)", account: account)
      })
    let running = run.start()
    try await run.until { try $0.item(ids[1])?.state == .done && $0.item(ids[0])?.failure == .permission }
    running.cancel()
    try await running.value
    let states = try ids.map { try run.store.item($0)?.state }
    #expect(states[1] == .done)
    #expect(states[2] == .waiting)
    #expect(states[0] != .done)
    #expect(
      try await server.client().head(bucket: SeaweedFS.bucket, key: "accounts/reader", credentials: SeaweedFS.writer)
        == nil)
  }
}
