import DeterministicTesting
import Foundation
import Streams
import Testing
import Timing
import UploadsTesting

@testable import Uploads

/// Days without a network, under a clock that the test moves.
@Suite("A long time offline", .timeLimit(.minutes(10))) struct OfflineTests {
  private let folder: TemporaryFolder
  private let clock = ManualClock()
  private let transport = Offline()
  init() throws { folder = try TemporaryFolder() }

  /// `EDGEBLUE_OFFLINE_DAYS=7` makes it a week, in two minutes, instead of six hours. From a day on memory is measured,
  /// which needs a run without other tests.
  @Test("Time offline costs few attempts and little memory, and ends at once")
  func timeOfflineCostsLittleAndEndsAtOnce() async throws {
    let days = ProcessInfo.processInfo.environment["EDGEBLUE_OFFLINE_DAYS"].flatMap(Double.init) ?? 0.25
    let time = Duration.seconds(days * 86_400)
    let run = try run(for: time)
    let content = try ObjectContent(readingFile: try folder.file("f", 100, seed: 1))
    let ids = try await run.queue.add(
      (0..<200).map { UploadRequest(content, bucket: "bucket", key: "\($0)", account: "a") })
    let running = run.start()
    // Three attempts find no server at first; then one at a time does.
    await transport.until(attempts: 3)
    if let settled = try await passTime(time) {
      let growth = try Memory.inUse - settled
      print("\(days) days, \(transport.attempts) attempts: \(growth >> 10) KiB more in memory than after an hour")
      // Other tests would add theirs.
      if days >= 1 { #expect(growth < 2 << 20) }
    }
    #expect(Double(transport.attempts) < days * 86_400 / 30 + 10)
    #expect(try run.store.events().count <= QueueStore.eventLimit)
    #expect(try run.store.totals().items.values.reduce(0, +) == 200)
    // The network is back: the clock stands still, and all items are uploaded.
    transport.isBack = true
    await run.queue.networkReturned()
    try await run.untilFinished(ids, running)
    #expect(try run.store.totals().items == [.done: 200])
  }

  private func run(for time: Duration) throws -> QueueRun {
    var options = UploadQueue.Options()
    options.random = { 1 }
    // No other process changes the queue.
    options.pollInterval = time * 2
    return try QueueRun(
      folder, S3Client(try S3Endpoint("http://127.0.0.1:1"), transport: transport),
      ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(clock), options: options)
  }

  /// Moves the clock from attempt to attempt.
  /// - Returns: The memory in use after the first hour, in bytes.
  private func passTime(_ time: Duration) async throws -> Int? {
    var now = Duration.zero
    var delay = Duration.seconds(8)
    var settled: Int?
    while now < time {
      if settled == nil, now > .seconds(3600) { settled = try Memory.inUse }
      now += delay
      let before = transport.attempts
      await clock.advance(toSleeperAt: now)
      await transport.until(attempts: before + 1)
      #expect(transport.attempts == before + 1)
      delay = min(delay * 2, .seconds(30))
    }
    // A failure that the queue handles only after the network's return waits for a clock that stands still.
    await clock.waitForSleeper(until: now + delay)
    return settled
  }
}

/// The memory of this process.
private enum Memory {
  static var inUse: Int {
    get throws {
      // Sizes in pages: total, resident and so on.
      let sizes = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
      return try #require(Int(sizes[1])) * Int(getpagesize())
    }
  }
}

/// A network that is down, and then up. The first three attempts fail together, because each failure lengthens the delay.
private final class Offline: S3Transport {
  private struct State {
    var attempts = 0
    var isBack = false
    /// The headers of each object.
    var stored: [String: [String: String]] = [:]
  }

  private let state = Lock(State())

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

  func send(_ request: S3Request, _ progress: S3Progress) async throws -> S3Response {
    guard isBack else {
      // The search for unfinished multipart uploads is no attempt.
      if request.method != "GET" {
        state.withLock { $0.attempts += 1 }
        await until(attempts: 3)
      }
      throw UploadsError(.unreachable, "nothing answers")
    }
    if request.method == "HEAD" {
      guard let headers = state.withLock({ $0.stored[request.path] }) else { return S3Response(status: 404) }
      return S3Response(status: 200, headers: headers)
    }
    let checksum = request.headers.first { $0.name == "x-amz-checksum-sha256" }?.value ?? ""
    let headers = [
      "etag": "\"x\"", "x-amz-checksum-sha256": checksum, "content-length": "\(request.body.length)",
    ]
    return state.withLock { state in
      guard state.stored.updateValue(headers, forKey: request.path) == nil else {
        // With the body that S3 has: without it the response could be anybody's.
        return S3Response(status: 412, body: Data("<Error><Code>PreconditionFailed</Code></Error>".utf8))
      }
      return S3Response(status: 200, headers: headers)
    }
  }
}
