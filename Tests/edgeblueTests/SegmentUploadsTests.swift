import AudioIngest
import AudioIngestTesting
import DeterministicTesting
import Foundation
import Streams
import SystemTesting
import Testing
import Timing
import Uploads

@testable import edgeblue

@Suite("Segments on their way from the recorder to the queue", .timeLimit(.minutes(5))) struct SegmentUploadsTests {
  @Test("A segment is delivered once the server has both of its files")
  func aSegmentMayGoOnceTheServerHasBothOfItsFiles() async throws {
    let temporary = try TemporaryFolder()
    let folder = try SegmentFolder(path: temporary.path + "/recordings", limits: .init(reserve: 0))
    let segment = try Self.record(in: folder)
    let store = try QueueStore(path: temporary.path + "/uploads.sqlite")
    let arrived = Lock<[Int]>([])
    let sink = SegmentUploads(
      store: store, folder: folder, requests: Self.requests(folder, prefix: "fleet/"),
      told: { news in
        if case .uploaded(let id, _) = news { arrived.withLock { $0.append(id) } }
      })
    try await sink.take(segment)
    try await sink.take(segment)
    let items = try store.items(in: [.waiting])
    let device = segment.info.device.address.replacing(":", with: "-").lowercased()
    let stem = "fleet/ada/\(device)/\(segment.info.capture.localDate)/\(segment.info.name)"
    #expect(items.map(\.request.key) == [stem + ".json", stem + ".wav"])
    let manifest = "fleet/ada/manifests/device=\(device)/date=\(segment.info.capture.localDate)/manifest.ndjson"
    #expect(items.allSatisfy { $0.request.manifest == manifest })
    #expect(items[1].request.content.sha256 == segment.info.measured.sha256)
    #expect(items[1].request.content.contentType == "audio/wav")

    // The server takes the sidecar first; that is not all of it.
    let server = Server(refusing: ".wav")
    let clock = ManualClock()
    let queue = UploadQueue(
      store, client: S3Client(try S3Endpoint("http://host"), transport: server),
      accounts: ["ada": StaticCredentials(S3Credentials(accessKey: "k", secretKey: "s"))], clock: TimeSource(clock),
      disk: sink)
    let running = Task { try await queue.run() }
    try await Self.until { try store.totals().items == [.done: 1, .waiting: 1] }
    #expect(try SegmentCatalog(path: folder.path).entries.map(\.isDelivered) == [false])
    server.refused.withLock { $0 = "nothing" }
    await queue.networkReturned()
    try await Self.until { try store.totals().items == [.done: 2] }
    #expect(try SegmentCatalog(path: folder.path).entries.map(\.isDelivered) == [true])
    #expect(arrived.withLock { $0 } == [segment.info.id])
    running.cancel()
    try await running.value
  }

  @Test("A segment with a transcript is delivered once the server has that, too")
  func aTranscriptIsWaitedFor() async throws {
    let temporary = try TemporaryFolder()
    let folder = try SegmentFolder(path: temporary.path + "/recordings", limits: .init(reserve: 0))
    let segment = try Self.record(in: folder)
    try Data("Grüße".utf8).write(to: URL(filePath: segment.transcriptPath))
    let store = try QueueStore(path: temporary.path + "/uploads.sqlite")
    let sink = SegmentUploads(store: store, folder: folder, requests: Self.requests(folder))
    try await sink.take(segment)
    try sink.takeTranscript(of: segment)
    let server = Server(refusing: ".txt")
    let queue = UploadQueue(
      store, client: S3Client(try S3Endpoint("http://host"), transport: server),
      accounts: ["ada": StaticCredentials(S3Credentials(accessKey: "k", secretKey: "s"))],
      clock: TimeSource(ManualClock()), disk: sink)
    let running = Task { try await queue.run() }
    try await Self.until { try store.totals().items == [.done: 2, .waiting: 1] }
    #expect(try SegmentCatalog(path: folder.path).entries.map(\.isDelivered) == [false])
    server.refused.withLock { $0 = "nothing" }
    await queue.networkReturned()
    try await Self.until { try store.totals().items == [.done: 3] }
    #expect(try SegmentCatalog(path: folder.path).entries.map(\.isDelivered) == [true])
    running.cancel()
    try await running.value
  }

  /// As in a recording: the queue runs when the first segment is finished.
  @Test("A segment that is finished while the queue runs is uploaded too") func whatIsFinishedWhileTheQueueRunsGoesToo()
    async throws
  {
    let temporary = try TemporaryFolder()
    let folder = try SegmentFolder(path: temporary.path + "/recordings", limits: .init(reserve: 0))
    let store = try QueueStore(path: temporary.path + "/uploads.sqlite")
    let sink = SegmentUploads(store: store, folder: folder, requests: Self.requests(folder))
    let clock = ManualClock()
    let queue = UploadQueue(
      store, client: S3Client(try S3Endpoint("http://host"), transport: Server(refusing: "nothing")),
      accounts: ["ada": StaticCredentials(S3Credentials(accessKey: "k", secretKey: "s"))], clock: TimeSource(clock),
      disk: sink)
    let running = Task { try await queue.run() }
    await clock.waitForSleeper(until: .milliseconds(500))
    try await sink.take(try Self.record(in: folder))
    try await Self.until {
      clock.advance(by: .milliseconds(100))
      return try store.totals().items == [.done: 2]
    }
    #expect(try SegmentCatalog(path: folder.path).entries.map(\.isDelivered) == [true])
    running.cancel()
    try await running.value
  }

  /// One policy: the queue waits when it cannot write, the recorder's folder makes room of what was delivered, and what was
  /// not delivered stays.
  @Test(
    "On a full disk a segment waits, and delivered segments are removed",
    .enabled(if: SmallDisk.isPossible, "needs to be allowed to mount a disk in memory"))
  func withoutRoomASegmentWaitsAndWhatWasDeliveredGoes() async throws {
    let disk = try SmallDisk(megabytes: 2)
    let folder = try SegmentFolder(path: disk.path + "/recordings", limits: .init(reserve: 0))
    var recording = try Recording(folder, SegmentRules(maximum: .seconds(2), quietSearch: .zero))
    recording.play(frames: 600)
    recording.recorder.end(.shutdown, at: recording.moment)
    let segments = try SegmentCatalog(path: folder.path).entries.map(\.segment)
    try #require(segments.count == 3)
    let store = try QueueStore(path: disk.path + "/uploads.sqlite")
    let clock = ManualClock()
    let waits = Lock<[Int]>([])
    let sink = SegmentUploads(
      store: store, folder: folder, requests: Self.requests(folder), clock: TimeSource(clock),
      told: { news in
        if case .waits(let id, _) = news { waits.withLock { $0.append(id) } }
      })
    try await sink.take(segments[0])
    let filler = try disk.fill()
    // Nothing may go: it waits until somebody makes room, and says so once.
    let taking = Task { try await sink.take(segments[1]) }
    for _ in 0..<3 { await clock.advance(toSleeperAt: clock.now.offset + SegmentUploads.pause) }
    await clock.waitForSleeper(until: clock.now.offset + SegmentUploads.pause)
    #expect(waits.withLock { $0 } == [segments[1].info.id])
    #expect(try store.totals().items == [.waiting: 2])
    try FileManager.default.removeItem(atPath: filler)
    await clock.advance(toSleeperAt: clock.now.offset + SegmentUploads.pause)
    try await taking.value
    #expect(try store.totals().items == [.waiting: 4])
    // What was delivered goes at once, and only that.
    try folder.markDelivered(segments[0].info.id)
    try disk.fill()
    try await sink.take(segments[2])
    #expect(try store.totals().items == [.waiting: 6])
    #expect(try SegmentCatalog(path: folder.path).entries.map(\.segment.info.id) == segments.dropFirst().map(\.info.id))
    #expect(waits.withLock { $0 }.count == 1)
  }

  private static func requests(_ folder: SegmentFolder, prefix: String = "") -> SegmentRequests {
    SegmentRequests(
      source: UploadSource(
        folder: folder.path, endpoint: "http://host", bucket: "bucket", prefix: prefix, account: "ada"))
  }

  /// Records one segment of 2 s.
  private static func record(in folder: SegmentFolder) throws -> FinishedSegment {
    var recording = try Recording(folder)
    recording.play(frames: 200)
    recording.recorder.end(.shutdown, at: recording.moment)
    return try #require(try SegmentCatalog(path: folder.path).entries.first?.segment)
  }

  private static func until(_ isSo: () throws -> Bool) async throws {
    while try !isSo() { try await Task.sleep(for: .milliseconds(5), clock: .steady) }
  }
}

/// A server that takes what it is sent, but for some.
private final class Server: S3Transport {
  let refused: Lock<String>
  private let stored = Lock<[String: [String: String]]>([:])

  init(refusing end: String) { refused = Lock(end) }

  func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Response {
    if request.method == "HEAD" {
      guard let headers = stored.withLock({ $0[request.path] }) else { return S3Response(status: 404) }
      return S3Response(status: 200, headers: headers)
    }
    guard !request.path.hasSuffix(refused.withLock { $0 }) else { return S3Response(status: 503) }
    guard
      stored.withLock({ $0[request.path] == nil }) || !request.headers.contains(where: { $0.name == "If-None-Match" })
    else { return S3Response(status: 412) }
    let checksum = request.headers.first { $0.name == "x-amz-checksum-sha256" }?.value ?? ""
    let headers = [
      "etag": "\"x\"", "x-amz-checksum-sha256": checksum, "content-length": "\(request.body.length)",
    ]
    stored.withLock { $0[request.path] = headers }
    return S3Response(status: 200, headers: headers)
  }
}
