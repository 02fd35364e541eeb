/// The size of a speed test: its threads, its durations, and the directions to measure.
public struct SpeedTestPlan: Sendable, Hashable {
  /// The number of connections that transfer at the same time.
  public let threads: Int
  /// The duration of each direction in seconds.
  public let seconds: Int
  /// A Boolean value that indicates whether the upload is measured too.
  public let includesUpload: Bool
  /// The duration of each pretest, which selects the chunk size and the number of threads.
  package var pretest = Duration.seconds(2)
  /// The smallest and the largest number of round trips.
  package var pings = 10...200
  /// The shortest duration of the latency test.
  package var pingDuration = Duration.seconds(1)

  /// The allowed numbers of threads.
  public static let allowedThreads = 1...120
  /// The allowed durations of a direction in seconds.
  public static let allowedSeconds = 1...30

  /// Creates a plan for one test.
  /// - Parameters:
  ///   - threads: The number of connections, in ``allowedThreads``.
  ///   - seconds: The duration of each direction, in ``allowedSeconds``.
  ///   - includesUpload: `false` to measure the download and the latency alone.
  /// - Throws: ``SpeedTestError`` with code `.invalidArgument` for a number out of its range.
  public init(threads: Int = 3, seconds: Int = 7, includesUpload: Bool = true) throws(SpeedTestError) {
    guard Self.allowedThreads.contains(threads) else {
      throw SpeedTestError(.invalidArgument, "the number of threads is \(threads); allowed: 1 to 120")
    }
    guard Self.allowedSeconds.contains(seconds) else {
      throw SpeedTestError(.invalidArgument, "the duration is \(seconds) s; allowed: 1 to 30 s")
    }
    self.threads = threads
    self.seconds = seconds
    self.includesUpload = includesUpload
  }
}

/// A phase of a speed test, in the order in which they run.
public enum SpeedTestPhase: String, Sendable, Hashable, CaseIterable {
  /// The connections are made and authorised.
  case connecting
  /// Growing downloads select the chunk size and the number of threads.
  case downloadPretest
  /// One connection measures round trips.
  case latency
  /// All connections download at once.
  case download
  /// Growing uploads select the chunk size.
  case uploadPretest
  /// All connections upload at once.
  case upload
  /// The test is over; nothing follows.
  case finished
}
