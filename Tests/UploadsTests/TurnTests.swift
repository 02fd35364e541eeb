import DeterministicTesting
import Foundation
import Streams
import SystemTesting
import Testing
import Timing
import UploadsTesting

@testable import Uploads

/// Two processes that would upload the same queue.
@Suite("The lock of a queue", .timeLimit(.minutes(5))) struct TurnTests {
  /// Advances the clock until some items are released.
  private func released(_ count: Int, _ keys: Lock<[String]>, _ clock: ManualClock) async throws {
    try await eventually("\(count) items are released") {
      clock.advance(by: .seconds(5))
      return keys.withLock { $0.count } == count
    }
  }

  @Test("A waiting process releases files that the first has uploaded, and continues after it")
  func theSecondHearsOfWhatTheFirstDeliversAndGoesOnAfterIt() async throws {
    let folder = try TemporaryFolder()
    let server = MemoryServer()
    let clock = ManualClock()
    let path = try folder.file("f", 100, seed: 1)
    let content = try ObjectContent(readingFile: path)
    func request(_ key: String) -> UploadRequest { UploadRequest(content, bucket: "bucket", key: key, account: "a") }
    let first = try QueueRun(
      folder, S3Client(try S3Endpoint("http://host"), transport: server),
      ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(clock))
    let running = first.start()
    try await first.queue.add([request("before")])
    try await first.until { try $0.totals().items == [.done: 1] }

    var options = UploadQueue.Options()
    options.waitsForLock = true
    let keys = Lock<[String]>([])
    let fails = Lock(true)
    let listener = DiskListener { item in
      // A failed release is repeated.
      if fails.take() { throw UploadsError(.storage, "not now") }
      if item.request.key != "before" { keys.withLock { $0.append(item.request.key) } }
    }
    let second = try QueueRun(again: first, at: server, clock: TimeSource(clock), options: options, disk: listener)
    let waiting = second.start()
    try await eventually("the second waits") { await second.queue.status.isUploadedElsewhere }

    try await first.queue.add([request("one"), request("two")])
    try await released(2, keys, clock)
    running.cancel()
    try await running.value
    try second.store.add([request("three")])
    try await released(3, keys, clock)
    #expect(keys.withLock { $0.sorted() } == ["one", "three", "two"])
    #expect(await !second.queue.status.isUploadedElsewhere)
    try await second.until { try $0.totals().items == [.done: 4] }
    waiting.cancel()
    try await waiting.value
  }

  @Test("A process that does not wait for the lock fails")
  func whoDoesNotWaitFails() async throws {
    let folder = try TemporaryFolder()
    let server = MemoryServer()
    let first = try QueueRun(
      folder, S3Client(try S3Endpoint("http://host"), transport: server),
      ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(ManualClock()))
    let running = first.start()
    try await eventually("the first has the lock") { try first.store.uploader != nil }
    let second = try QueueRun(again: first, at: server, clock: TimeSource(ManualClock()))
    let error = await #expect(throws: UploadsError.self) { try await second.queue.run() }
    #expect(error?.code == .alreadyRunning)
    running.cancel()
    try await running.value
  }

  @Test("A queue that has uploaded, or does, refuses to be run again") func aQueueRunsOnce() async throws {
    let folder = try TemporaryFolder()
    let server = MemoryServer()
    let content = try ObjectContent(readingFile: try folder.file("f", 100, seed: 1))
    let run = try QueueRun(
      folder, S3Client(try S3Endpoint("http://host"), transport: server),
      ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(ManualClock()))
    let running = run.start()
    try await run.queue.add([UploadRequest(content, bucket: "bucket", key: "k", account: "a")])
    try await run.until { try $0.totals().items == [.done: 1] }
    let during = await #expect(throws: UploadsError.self) { try await run.queue.run() }
    #expect(during?.code == .invalidState)
    running.cancel()
    try await running.value
    let afterwards = await #expect(throws: UploadsError.self) { try await run.queue.run() }
    #expect(afterwards?.code == .invalidState)
    // Another queue continues.
    let next = try QueueRun(again: run, at: server, clock: TimeSource(ManualClock()))
    try await next.untilFinished(
      try await next.queue.add([
        UploadRequest(content, bucket: "bucket", key: "other", account: "a")
      ]))
  }

  /// Reading the progress does not keep a process from taking the lock.
  @Test("Other processes see the progress of the one that uploads") func othersSeeHowFarItIs() async throws {
    let folder = try TemporaryFolder()
    let server = MemoryServer()
    let content = try ObjectContent(readingFile: try folder.file("f", 100, seed: 1))
    let run = try QueueRun(
      folder, S3Client(try S3Endpoint("http://host"), transport: server),
      ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(ManualClock()))
    let other = try QueueStore(path: run.store.path)
    #expect(try other.uploader == nil)
    let seen = Lock<[QueueUploader?]>([])
    server.intercept { request in
      // The queue searches for unfinished multipart uploads, too.
      if request.method == "PUT" { seen.withLock { $0.append(try? other.uploader) } }
      return nil
    }
    let ids = try await run.queue.add([UploadRequest(content, bucket: "bucket", key: "k", account: "a")])
    let running = run.start()
    try await run.until { try $0.totals().items == [.done: 1] }
    try await eventually("no item is being uploaded") { try other.uploader?.running.isEmpty == true }
    #expect(try other.uploader == QueueUploader(processID: getpid(), sentBytes: 100))
    running.cancel()
    try await running.value
    // The second request asks whether the server keeps conditions.
    #expect(seen.withLock { $0 }.first == QueueUploader(processID: getpid(), running: [ids[0]: 0]))
    #expect(try other.uploader == nil)
    for _ in 0..<100 {
      #expect(try other.uploader == nil)
      let lock = try #require(try QueueLock(path: run.store.lockPath))
      #expect(try other.uploader == QueueUploader())
      lock.release()
    }
  }
}
