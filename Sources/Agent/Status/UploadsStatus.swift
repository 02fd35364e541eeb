/// The queue of uploads that an agent runs, at one moment. The agent knows nothing of what is uploaded: whoever composes
/// both says how the queue is.
public struct UploadsStatus: Sendable, Hashable {
  /// How many items there are in each state, by the name of the state, such as `waiting` or `failed`.
  public var items: [String: Int]
  /// The bytes of those that are not uploaded yet.
  public var bytesLeft: Int64
  /// When the oldest of those was queued, in milliseconds since 1970; `nil` when there is none.
  public var oldestAtMs: Int64?
  /// Whether a person holds all of it.
  public var isPaused: Bool
  /// What has happened since the agent was started, by name: `attempts`, `uploaded`, `uploadedBytes` and `sentBytes`.
  public var counters: [String: Int]
  /// How many attempts have failed since then, by the kind of the failure, such as `network`.
  public var failures: [String: Int]
  /// Why nothing goes on, in words; `nil` when all goes well.
  public var problem: String?

  /// Makes a status.
  public init(
    items: [String: Int] = [:], bytesLeft: Int64 = 0, oldestAtMs: Int64? = nil, isPaused: Bool = false,
    counters: [String: Int] = [:], failures: [String: Int] = [:], problem: String? = nil
  ) {
    (self.items, self.bytesLeft, self.oldestAtMs, self.isPaused) = (items, bytesLeft, oldestAtMs, isPaused)
    (self.counters, self.failures, self.problem) = (counters, failures, problem)
  }
}
