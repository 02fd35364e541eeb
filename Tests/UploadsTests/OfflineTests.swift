import DeterministicTesting
import Foundation
import Streams
import Testing
import Timing

@testable import Uploads

/// Days without a network, under a clock that the test moves.
@Suite(.timeLimit(.minutes(10))) struct OfflineTests {
  /// `EDGEBLUE_OFFLINE_DAYS=7` makes it a week, in two minutes, instead of six hours; from a day on memory is measured,
  /// which needs a run without other tests.
  @Test func timeOfflineCostsLittleAndEndsAtOnce() async throws {
    let days = ProcessInfo.processInfo.environment["EDGEBLUE_OFFLINE_DAYS"].flatMap(Double.init) ?? 0.25
    let time = Duration.seconds(days * 86_400)
    let folder = try TemporaryFolder()
    let clock = ManualClock()
    let transport = Offline()
    var options = UploadQueue.Options()
    // The queue is one program's.
    options.poll = time * 2
    let run = try QueueRun(
      folder, S3Client(try S3Endpoint("http://127.0.0.1:1"), transport: transport),
      ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(clock), options: options, random: { 1 })
    let path = try folder.file("f", 100, seed: 1)
    let content = try ObjectContent(readingFile: path)
    let ids = try await run.queue.add(
      (0..<200).map { UploadRequest(content, bucket: "bucket", key: "\($0)", account: "a") })
    let running = run.start()
    var now = Duration.zero
    // Three find nobody at first; then one at a time does.
    await transport.until(attempts: 3)
    var delay = Duration.seconds(8)
    var settled: Int?
    while now < time {
      // What a queue of this size needs it has after an hour.
      if settled == nil, now > .seconds(3600) { settled = try Memory.inUse }
      now += delay
      let before = transport.attempts
      await clock.advance(toSleeperAt: now)
      await transport.until(attempts: before + 1)
      #expect(transport.attempts == before + 1)
      delay = min(delay * 2, .seconds(30))
    }
    if let settled {
      let growth = try Memory.inUse - settled
      print("\(days) days, \(transport.attempts) attempts: \(growth >> 10) KiB more in memory than after an hour")
      // Beside other tests, theirs is in it.
      #expect(days < 1 || growth < 2 << 20)
    }
    #expect(Double(transport.attempts) < days * 86_400 / 30 + 10)
    #expect(try run.store.events().count <= QueueStore.eventLimit)
    #expect(try run.store.totals().items.values.reduce(0, +) == 200)
    // The network is back: the clock does not move any more, and all are uploaded.
    transport.isBack = true
    await run.queue.networkReturned()
    try await run.untilEnded(ids, running)
    #expect(try run.store.totals().items == [.done: 200])
  }
}

/// What this process has in memory, in bytes.
private enum Memory {
  static var inUse: Int {
    get throws {
      // Sizes in pages: all there is, what of it is in memory, and so on.
      let sizes = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
      return try #require(Int(sizes[1])) * Int(getpagesize())
    }
  }
}

/// A network that is down, and then up: no server is far or near. The first three are told so when all have begun, for each
/// makes the pause longer.
private final class Offline: S3Transport {
  private let state = Lock((attempts: 0, isBack: false))

  var attempts: Int { state.withLock { $0.attempts } }
  var isBack: Bool {
    get { state.withLock { $0.isBack } }
    set { state.withLock { $0.isBack = newValue } }
  }

  func until(attempts: Int) async {
    while self.attempts < attempts {
      do { try await Task.sleep(for: .milliseconds(1), clock: .steady) } catch { return }
    }
  }

  func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Answer {
    guard isBack else {
      // The look for forgotten uploads is no attempt.
      if request.method != "GET" {
        state.withLock { $0.attempts += 1 }
        await until(attempts: 3)
      }
      throw UploadsError(.unreachable, "nothing answers")
    }
    if request.method == "HEAD" { return S3Answer(status: 404) }
    let checksum = request.headers.first { $0.name == "x-amz-checksum-sha256" }?.value ?? ""
    return S3Answer(status: 200, headers: ["etag": "\"x\"", "x-amz-checksum-sha256": checksum])
  }
}
