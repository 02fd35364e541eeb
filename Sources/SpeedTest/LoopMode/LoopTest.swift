public import Places

/// The outcome of one test of a loop.
public struct LoopOutcome: Sendable, Hashable, Codable {
  /// The way in which a test ended.
  public enum Status: String, Sendable, Hashable, Codable, CaseIterable {
    /// The test has measured everything.
    case completed
    /// The test has failed, for the reason in ``LoopOutcome/reason``.
    case failed
    /// The test was aborted because nobody was at the machine any more, or because it was about to sleep.
    case backgrounded = "abortedBackgrounded"
    /// The program ended during the test.
    case interrupted
    /// A user has ended the loop during the test.
    case stopped
  }

  /// The way in which the test ended.
  public var status: Status
  /// The reason for a test that was not completed, in words.
  public var reason: String?
  /// The rate of the download in bits per second, as far as it was measured.
  public var download: Double?
  /// The rate of the upload in bits per second, as far as it was measured.
  public var upload: Double?
  /// The median of the round trips in milliseconds, as far as they were measured.
  public var pingMs: Double?
  /// The number under which the whole result is stored; `nil` if it is not.
  public var result: Int?
  /// The programs that used the network at the same time, as far as they say so.
  public var alongside: [String]

  /// Creates an outcome without measured values.
  public init(_ status: Status, reason: String? = nil) {
    self.status = status
    self.reason = reason
    alongside = []
  }

  /// A Boolean value that indicates whether the test is repeated once.
  var isRepeated: Bool { status == .failed || status == .interrupted }

  var isPlausible: Bool {
    [download, upload, pingMs].compactMap(\.self).allSatisfy { $0.isFinite && $0 >= 0 }
      && alongside.count <= 64 && (reason?.utf8.count ?? 0) <= 4096
  }
}

/// The condition that made a test of a loop due.
public enum LoopTrigger: String, Sendable, Hashable, Codable, CaseIterable {
  /// The first test of a loop, which is due at once.
  case first
  /// The delay since the start of the previous test has passed.
  case time
  /// The machine has moved far enough from the place of the previous test.
  case distance
  /// The previous attempt has failed, and is repeated once.
  case retry
}

/// One attempt of a test, in the history of a loop.
public struct LoopTest: Sendable, Hashable, Codable {
  /// The number of the test, from 1.
  public let number: Int
  /// The attempt at this test: 1, or 2 for the repetition after a failure.
  public let attempt: Int
  /// The condition that made the test due.
  public let trigger: LoopTrigger
  /// The wall-clock time of the start, in milliseconds since 1970.
  public let startMs: Int64
  /// The distance in metres from the place of the previous test; `nil` if either place is unknown.
  public let moved: Double?
  /// The place at the start; `nil` without a location that counts.
  public internal(set) var place: Place?
  /// The duration in milliseconds, for a test whose end the program has seen.
  public internal(set) var durationMs: Int64?
  /// The outcome; `nil` while the test runs.
  public internal(set) var outcome: LoopOutcome?

  var isPlausible: Bool {
    LoopPlan.allowedTests.contains(number) && (1...2).contains(attempt)
      && outcome?.isPlausible ?? true && moved?.isFinite ?? true && (durationMs ?? 0) >= 0
      && startMs.magnitude < 1 << 52
  }
}
