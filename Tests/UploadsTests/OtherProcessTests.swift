import Foundation
import Testing
import Timing
import UploadsTesting

@testable import Uploads

@Suite("Changes of a running queue by another process", .timeLimit(.minutes(5))) struct OtherProcessTests {
  private let folder: TemporaryFolder
  private let server = MemoryServer()
  init() throws { folder = try TemporaryFolder() }

  /// A clock whose long sleeps do not end: those between two looks at a queue whose file is watched.
  private struct ShortSleeps: Clock {
    typealias Instant = ContinuousClock.Instant
    var now: Instant { .now }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      let isShort = now.duration(to: deadline) < .seconds(20)
      try await SteadyClock().sleep(until: isShort ? deadline : now + .seconds(86_400), tolerance: tolerance)
    }
  }

  private func queue(_ path: String) throws -> UploadQueue {
    UploadQueue(
      try QueueStore(path: path), client: S3Client(try S3Endpoint("http://host"), transport: server),
      accounts: ["a": StaticCredentials(MemoryServer.credentials)], clock: TimeSource(ShortSleeps()))
  }

  /// Adds an item as another process does.
  private func add(_ key: String, to path: String) throws -> Int64 {
    let content = try ObjectContent(readingFile: try folder.file(key, 100, seed: 1))
    return try QueueStore(path: path).add([UploadRequest(content, bucket: "bucket", key: key, account: "a")])[0]
  }

  private func untilDone(_ item: Int64, _ queue: UploadQueue) async throws {
    while try queue.store.item(item)?.state != .done { try await Task.sleep(for: .milliseconds(5), clock: .steady) }
  }

  @Test("They are noticed where the file is watched") func areNoticed() async throws {
    let path = folder.path + "/queue.sqlite"
    let queue = try queue(path)
    let running = Task { try await queue.run() }
    for number in 0..<5 { try await untilDone(try add("\(number)", to: path), queue) }
    // When it has not looked any more for a while.
    try await Task.sleep(for: .seconds(7), clock: .steady)
    try await untilDone(try add("later", to: path), queue)
    running.cancel()
    try await running.value
  }

  @Test("They are noticed after the folder was renamed") func renamedFolder() async throws {
    let old = folder.path + "/old"
    let new = folder.path + "/new"
    try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: true)
    let queue = try queue(old + "/queue.sqlite")
    let running = Task { try await queue.run() }
    try await untilDone(try add("first", to: old + "/queue.sqlite"), queue)
    try FileManager.default.moveItem(atPath: old, toPath: new)
    try await untilDone(try add("second", to: new + "/queue.sqlite"), queue)
    running.cancel()
    try await running.value
  }
}
