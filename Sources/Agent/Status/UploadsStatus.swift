/// The status of the upload queue that an agent runs.
///
/// The agent knows nothing of uploads: the program that composes both reports the status.
///
/// ```swift
/// var uploads = UploadsStatus(items: ["waiting": 3], bytesLeft: 4096)
/// uploads.problem = "the server does not answer"
/// await runner.take(uploads)
/// ```
public struct UploadsStatus: Sendable, Hashable {
  /// The number of items in each state, by the name of the state, such as `waiting` or `failed`.
  public var items: [String: Int]
  /// The number of bytes that are not uploaded yet.
  public var bytesLeft: Int64
  /// The time at which the oldest item was queued that waits, is being uploaded or is paused, in milliseconds since 1970;
  /// `nil` if there is none.
  public var oldestAtMs: Int64?
  /// A Boolean value that indicates whether the user has paused the whole queue.
  public var isPaused: Bool
  /// The counters since the start of the agent: `attempts`, `uploaded`, `uploadedBytes` and `sentBytes`.
  public var counters: [String: Int]
  /// The number of failed attempts since then, by the kind of failure, such as `network`.
  public var failures: [String: Int]
  /// The reason why the queue makes no progress, for display; `nil` if there is none.
  public var problem: String?

  /// Creates a status without a problem.
  public init(
    items: [String: Int] = [:], bytesLeft: Int64 = 0, oldestAtMs: Int64? = nil, isPaused: Bool = false,
    counters: [String: Int] = [:], failures: [String: Int] = [:]
  ) {
    self.items = items
    self.bytesLeft = bytesLeft
    self.oldestAtMs = oldestAtMs
    self.isPaused = isPaused
    self.counters = counters
    self.failures = failures
  }
}
