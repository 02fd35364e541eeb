import DeterministicTesting
import Foundation
import Streams
import Testing
import Timing

@testable import Uploads

/// Two programs that would upload the same queue.
@Suite(.timeLimit(.minutes(5))) struct TurnTests {
  @Test func theSecondHearsOfWhatTheFirstDeliversAndGoesOnAfterIt() async throws {
    let (folder, server, clock) = (try TemporaryFolder(), MemoryServer(), ManualClock())
    let path = try folder.file("f", 100, seed: 1)
    let content = try ObjectContent(readingFile: path)
    func request(_ key: String) -> UploadRequest { UploadRequest(content, bucket: "bucket", key: key, account: "a") }
    func whileWaiting(_ isSo: () async -> Bool) async throws {
      while await isSo() {
        clock.advance(by: .seconds(5))
        try await Task.sleep(for: .milliseconds(2), clock: .steady)
      }
    }
    let first = try QueueRun(
      folder, S3Client(try S3Endpoint("http://host"), transport: server),
      ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(clock))
    let running = first.start()
    try await first.queue.add([request("before")])
    try await first.until { try $0.totals().items == [.done: 1] }

    var options = UploadQueue.Options()
    options.waitsForTurn = true
    let (heard, fails) = (Lock<[String]>([]), Lock(true))
    let listener = DiskListener { item in
      // It is told again of what it could not take.
      if fails.take() { throw UploadsError(.storage, "not now") }
      if item.request.key != "before" { heard.withLock { $0.append(item.request.key) } }
    }
    let second = try QueueRun(again: first, at: server, clock: TimeSource(clock), options: options, disk: listener)
    let waiting = second.start()
    while await !second.queue.status.isElsewhere { try await Task.sleep(for: .milliseconds(2), clock: .steady) }
    // Who does not wait is told so.
    let third = try QueueRun(again: first, at: server, clock: TimeSource(clock))
    let error = await #expect(throws: UploadsError.self) { try await third.queue.run() }
    #expect(error?.code == .alreadyRunning)

    try await first.queue.add([request("one"), request("two")])
    try await whileWaiting { heard.withLock { $0.count } < 2 }
    running.cancel()
    await running.value
    try second.store.add([request("three")])
    try await whileWaiting { heard.withLock { $0.count } < 3 }
    #expect(heard.withLock { $0.sorted() } == ["one", "three", "two"])
    #expect(await !second.queue.status.isElsewhere)
    try await second.until { try $0.totals().items == [.done: 4] }
    waiting.cancel()
    await waiting.value
  }

  /// Who looks learns who uploads and what is under way, and keeps nobody from taking the queue.
  @Test func othersSeeHowFarItIs() async throws {
    let (folder, server) = (try TemporaryFolder(), MemoryServer())
    let content = try ObjectContent(readingFile: try folder.file("f", 100, seed: 1))
    let run = try QueueRun(
      folder, S3Client(try S3Endpoint("http://host"), transport: server),
      ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(ManualClock()))
    let other = try QueueStore(path: run.store.path)
    #expect(try other.uploader == nil)
    let seen = Lock<[QueueUploader?]>([])
    server.intercept { request in
      // The library looks for what is forgotten, too.
      if request.method == "PUT" { seen.withLock { $0.append(try? other.uploader) } }
      return nil
    }
    let ids = try await run.queue.add([UploadRequest(content, bucket: "bucket", key: "k", account: "a")])
    let running = run.start()
    try await run.until { try $0.totals().items == [.done: 1] }
    while try other.uploader?.running.isEmpty != true { try await Task.sleep(for: .milliseconds(2), clock: .steady) }
    #expect(try other.uploader == QueueUploader(processID: getpid(), sentBytes: 100))
    running.cancel()
    await running.value
    #expect(seen.withLock { $0 } == [QueueUploader(processID: getpid(), running: [ids[0]: 0])])
    #expect(try other.uploader == nil)
    for _ in 0..<100 {
      #expect(try other.uploader == nil)
      let lock = try #require(try QueueLock(path: run.store.lockPath))
      #expect(try other.uploader == QueueUploader())
      lock.release()
    }
  }
}
