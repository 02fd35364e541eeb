internal import Foundation
public import Timing
public import Uploads

/// An upload queue with its store in a test's folder.
///
/// ```swift
/// import Uploads
///
/// let folder = try TemporaryFolder()
/// let client = S3Client(try S3Endpoint("http://host"), transport: MemoryServer())
/// let run = try QueueRun(folder, client, ["ada": StaticCredentials(MemoryServer.credentials)])
/// let content = try ObjectContent(readingFile: try folder.file("talk.wav", 1000, seed: 1))
/// let ids = try await run.queue.add([UploadRequest(content, bucket: "bucket", key: "talk", account: "ada")])
/// try await run.untilFinished(ids)
/// ```
public struct QueueRun: Sendable {
  /// The items of the queue.
  public let store: QueueStore
  /// The queue, which uploads after ``start()``.
  public let queue: UploadQueue

  /// Creates a queue with a new store.
  /// - Parameters:
  ///   - folder: The folder for the store.
  ///   - client: The client of the server.
  ///   - accounts: The credentials provider of each account.
  ///   - clock: The clock of the queue.
  ///   - unixMs: The wall clock, in Unix milliseconds.
  ///   - options: The settings of the queue.
  /// - Throws: `UploadsError`.
  public init(
    _ folder: TemporaryFolder, _ client: S3Client, _ accounts: [String: any CredentialsProvider],
    clock: TimeSource = .continuous, unixMs: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds,
    options: UploadQueue.Options = .init()
  ) throws {
    store = try QueueStore(path: "\(folder.path)/\(UUID().uuidString).sqlite", unixMs: unixMs)
    queue = UploadQueue(store, client: client, accounts: accounts, options: options, clock: clock)
  }

  /// Creates a queue of another process with the store of an existing one, and an account `a`.
  /// - Parameters:
  ///   - other: The existing queue.
  ///   - server: The transport to the server.
  ///   - clock: The clock of the queue.
  ///   - options: The settings of the queue.
  ///   - disk: The owner of the disk.
  /// - Throws: `UploadsError`.
  public init(
    again other: QueueRun, at server: any S3Transport, clock: TimeSource, options: UploadQueue.Options = .init(),
    disk: (any DiskPolicy)? = nil
  ) throws {
    store = try QueueStore(path: other.store.path)
    queue = UploadQueue(
      store, client: S3Client(try S3Endpoint("http://host"), transport: server),
      accounts: ["a": StaticCredentials(MemoryServer.credentials)], options: options, clock: clock, disk: disk)
  }

  /// Starts uploading; the returned task uploads until it is cancelled.
  public func start() -> Task<Void, any Error> { Task { try await queue.run() } }

  /// Uploads until some items are done or have failed for good.
  /// - Throws: An error of the queue.
  public func untilFinished(_ ids: [Int64]) async throws { try await untilFinished(ids, start()) }

  /// Waits until some items are done or have failed for good, then cancels a task from ``start()``.
  /// - Throws: An error of the queue.
  public func untilFinished(_ ids: [Int64], _ running: Task<Void, any Error>) async throws {
    defer { running.cancel() }
    try await until { store in
      try ids.allSatisfy { [.done, .failed].contains(try store.item($0)?.state) }
    }
    running.cancel()
    try await running.value
  }

  /// Waits until a condition of the store holds, checking every 10 ms; the test's time limit bounds it.
  /// - Throws: `CancellationError`; the error of the condition.
  public func until(_ condition: (QueueStore) throws -> Bool) async throws {
    while try !condition(store) { try await Task.sleep(for: .milliseconds(10), clock: .steady) }
  }
}
