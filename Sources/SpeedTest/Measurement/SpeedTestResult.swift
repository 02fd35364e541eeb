/// The result of a speed test, complete or as far as it came.
public struct SpeedTestResult: Sendable, Hashable {
  /// The reason that a test did not finish.
  public struct Failure: Sendable, Hashable {
    /// The phase that did not finish.
    public var phase: SpeedTestPhase
    /// The error; `nil` when the test was cancelled.
    public var error: SpeedTestError?

    /// Creates a reason from the phase and the error in it.
    public init(phase: SpeedTestPhase, error: SpeedTestError?) {
      self.phase = phase
      self.error = error
    }
  }

  /// One direction of a test.
  public struct Direction: Sendable, Hashable {
    /// The rate over all threads.
    public var throughput: Throughput
    /// The raw samples of each thread: by the client's clock for a download, by the server's for an upload.
    public var samples: [[ThroughputSample]]
    /// The bytes of all threads, those behind the end of the measured time too.
    public var totalBytes: UInt64
    /// The size of a chunk in bytes.
    public var chunkSize: Int
  }

  /// The times of a test in nanoseconds since its start.
  public struct Times: Sendable, Hashable {
    /// The start of the download; 0 when the test did not come that far.
    public internal(set) var download: UInt64 = 0
    /// The start of the upload; 0 when the test did not come that far.
    public internal(set) var upload: UInt64 = 0
    /// The end of each round trip.
    public internal(set) var pings: [UInt64] = []
  }

  /// The round trips, in the order in which they were measured.
  public internal(set) var pings: [PingSample] = []
  /// The download; `nil` when the test did not come that far.
  public internal(set) var download: Direction?
  /// The upload; `nil` when the test did not come that far, or left it out.
  public internal(set) var upload: Direction?
  /// The number of connections after the reduction on a slow link.
  public internal(set) var threads: Int
  /// The reason that the test did not finish; `nil` for a complete result.
  public internal(set) var failure: Failure?

  /// The times of the phases and the round trips; `nil` for a result that was stored without them.
  public internal(set) var times: Times?

  /// The statistics of the round trips; `nil` without any.
  public var latency: Latency? { Latency(pings) }
}
