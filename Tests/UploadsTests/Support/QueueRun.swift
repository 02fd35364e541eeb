import Foundation
import Testing
import Timing

@testable import Uploads

/// A queue in a folder, and what a test does with it.
struct QueueRun: Sendable {
  let store: QueueStore
  let queue: UploadQueue

  init(
    _ folder: TemporaryFolder, _ client: S3Client, _ accounts: [String: any CredentialsProvider],
    clock: TimeSource = .continuous, unixMs: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds,
    options: UploadQueue.Options = .init(),
    random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
  ) throws {
    store = try QueueStore(path: "\(folder.path)/\(UUID().uuidString).sqlite", unixMs: unixMs)
    queue = UploadQueue(store, client: client, accounts: accounts, options: options, clock: clock, random: random)
  }

  /// Another program's, with the same items.
  init(
    again other: QueueRun, at server: any S3Transport, clock: TimeSource, options: UploadQueue.Options = .init(),
    disk: (any DiskPolicy)? = nil
  ) throws {
    store = try QueueStore(path: other.store.path)
    queue = UploadQueue(
      store, client: S3Client(try S3Endpoint("http://host"), transport: server),
      accounts: ["a": StaticCredentials(MemoryServer.credentials)], options: options, clock: clock,
      disk: disk)
  }

  /// Lets it upload until that is cancelled.
  func start() -> Task<Void, Never> {
    Task {
      do { try await queue.run() } catch { Issue.record("\(error)") }
    }
  }

  /// Lets it upload until some items are done or have failed for good.
  func untilEnded(_ ids: [Int64]) async throws { try await untilEnded(ids, start()) }

  func untilEnded(_ ids: [Int64], _ running: Task<Void, Never>) async throws {
    defer { running.cancel() }
    try await until { store in
      try ids.allSatisfy { [.done, .failed].contains(try store.item($0)?.state) }
    }
    running.cancel()
    await running.value
  }

  /// Looks until something is so.
  func until(_ isSo: (QueueStore) throws -> Bool) async throws {
    while try !isSo(store) { try await Task.sleep(for: .milliseconds(10), clock: .steady) }
  }
}
