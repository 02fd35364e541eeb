public import FoundationEssentials

/// A speed test as it is stored: the result with its raw samples, and the circumstances.
public struct SpeedTestRecord: Sendable, Hashable, Codable {
  /// The loop that a test belongs to.
  public struct Loop: Sendable, Hashable, Codable {
    /// The identifier of the loop.
    public var id: UUID
    /// The number of the test in the loop, from 1.
    public var test: Int
    /// The attempt at the test, 1 or 2.
    public var attempt: Int

    /// Creates a reference to a test of a loop.
    public init(id: UUID, test: Int, attempt: Int) {
      self.id = id
      self.test = test
      self.attempt = attempt
    }
  }

  /// The ends of the connections.
  public struct Ends: Sendable, Hashable, Codable {
    /// The address of the server.
    public var server: String
    /// The address of this machine on the way to the server.
    public var local: String
    /// The version in the server's greeting.
    public var version: String
    /// The version of TLS; `nil` for plain TCP.
    public var tls: String?
    /// The cipher suite of TLS; `nil` for plain TCP, and in older results.
    public var cipher: String?
    /// The interface of this machine that has the local address; `nil` if it is unknown.
    public var interface: String?

    /// Creates a description of the ends of the connections.
    public init(server: String, local: String, version: String, tls: String?) {
      self.server = server
      self.local = local
      self.version = version
      self.tls = tls
    }
  }

  /// The control server that has granted a test.
  public struct Control: Sendable, Hashable, Codable {
    /// The address of the control server.
    public var address: String
    /// The identifier of the test there.
    public var test: String
    /// The public identifier of the test, if the server has sent one.
    public var openTest: String?
    /// The provider of the client's address by the server, if it has sent one.
    public var provider: String?

    /// Creates a reference to a test at a control server.
    public init(address: String, test: String, openTest: String?, provider: String?) {
      self.address = address
      self.test = test
      self.openTest = openTest
      self.provider = provider
    }
  }

  /// The number of the test in its archive, from 1; 0 before it is stored.
  public internal(set) var number = 0
  /// The wall-clock time of the start, in milliseconds since 1970.
  public var startMs: Int64
  /// The duration of the whole test in milliseconds.
  public var durationMs: Int64
  /// The server as the user has named it.
  public var server: String
  /// The ends of the connections; `nil` when none was authorised.
  public var ends: Ends?
  /// The programs that used the network at the same time, as far as they say so.
  public var alongside: [String]
  /// The loop that the test belongs to; `nil` for a test of its own.
  public var loop: Loop?
  /// The control server that has granted the test; `nil` for a test without one.
  public var control: Control?
  /// The results of the quality-of-service tests; `nil` for a test without them.
  public var qos: QoSReport?
  /// The bytes that the interface has carried meanwhile; `nil` if they are unknown.
  public var traffic: InterfaceTraffic?
  /// The locations during the test, the oldest first; `nil` without a source of locations.
  public var locations: [Location]?
  private var contents: Contents

  /// Creates a record of a result that is not stored yet.
  public init(_ result: SpeedTestResult, server: String, startMs: Int64, durationMs: Int64) {
    self.startMs = startMs
    self.durationMs = durationMs
    self.server = server
    alongside = []
    contents = Contents(result)
  }

  /// The result of the test, with all its samples.
  public var result: SpeedTestResult { contents.result }

  var isPlausible: Bool {
    number > 0 && startMs.magnitude < 1 << 52 && (0..<1 << 52).contains(durationMs) && contents.isPlausible
      && (locations ?? []).allSatisfy(\.isPlausible) && (loop.map { $0.test > 0 && $0.attempt > 0 } ?? true)
  }
}

extension SpeedTestRecord {
  /// A result as it is written.
  fileprivate struct Contents: Sendable, Hashable, Codable {
    struct Failure: Sendable, Hashable, Codable {
      var phase: String
      /// The code and the message of the error; `nil` for a test that was cancelled.
      var code: String?
      var message: String?
    }

    /// The samples of one thread: nanoseconds and bytes in turn, which takes half the space of objects.
    struct Direction: Sendable, Hashable, Codable {
      var bitsPerSecond: Double
      var totalBytes: UInt64
      var chunkSize: Int
      var samples: [[UInt64]]
    }

    var threads: Int
    var download: Direction?
    var upload: Direction?
    /// The client's and the server's nanoseconds in turn.
    var pings: [UInt64]
    /// The starts of the download and the upload, and the end of each round trip; older results have none.
    var times: [UInt64]?
    var failure: Failure?

    var isPlausible: Bool {
      SpeedTestPlan.allowedThreads.contains(threads) && pings.count.isMultiple(of: 2)
        && [download, upload].compactMap(\.self).allSatisfy(\.isPlausible)
        && times.map { $0.count >= 2 } ?? true && failure.map { SpeedTestPhase(rawValue: $0.phase) != nil } ?? true
    }
  }
}

extension SpeedTestRecord.Contents {
  init(_ result: SpeedTestResult) {
    threads = result.threads
    download = result.download.map(Direction.init)
    upload = result.upload.map(Direction.init)
    pings = result.pings.flatMap { [$0.client, $0.server] }
    times = result.times.map { [$0.download, $0.upload] + $0.pings }
    failure = result.failure.map {
      Failure(phase: $0.phase.rawValue, code: $0.error?.code.description, message: $0.error?.message)
    }
  }

  var result: SpeedTestResult {
    var result = SpeedTestResult(threads: threads)
    result.download = download?.direction
    result.upload = upload?.direction
    result.pings = stride(from: 0, to: pings.count - 1, by: 2).map {
      PingSample(client: pings[$0], server: pings[$0 + 1])
    }
    result.times = times.flatMap { times in
      times.count < 2 ? nil : .init(download: times[0], upload: times[1], pings: Array(times[2...]))
    }
    result.failure = failure.flatMap { failure in
      SpeedTestPhase(rawValue: failure.phase).map { phase in
        let error = failure.code.map { SpeedTestError(.init($0), failure.message ?? "") }
        return SpeedTestResult.Failure(phase: phase, error: error)
      }
    }
    return result
  }
}

extension SpeedTestRecord.Contents.Direction {
  fileprivate init(_ direction: SpeedTestResult.Direction) {
    bitsPerSecond = direction.throughput.bitsPerSecond
    totalBytes = direction.totalBytes
    chunkSize = direction.chunkSize
    samples = direction.samples.map { $0.flatMap { [$0.nanoseconds, $0.bytes] } }
  }

  /// The direction, whose rate is computed from the samples again.
  fileprivate var direction: SpeedTestResult.Direction? {
    let threads = samples.map { numbers in
      stride(from: 0, to: numbers.count - 1, by: 2).map {
        ThroughputSample(nanoseconds: numbers[$0], bytes: numbers[$0 + 1])
      }
    }
    guard let throughput = Throughput(threads: threads) else { return nil }
    return .init(throughput: throughput, samples: threads, totalBytes: totalBytes, chunkSize: chunkSize)
  }

  fileprivate var isPlausible: Bool {
    guard bitsPerSecond.isFinite, bitsPerSecond >= 0, SpeedTestPlan.allowedThreads.contains(samples.count),
      samples.allSatisfy({ $0.count.isMultiple(of: 2) && !$0.isEmpty })
    else { return false }
    // A rate that its own samples do not have is not shown.
    guard let rate = direction?.throughput.bitsPerSecond else { return false }
    return abs(rate - bitsPerSecond) <= max(rate, 1) * 1e-6
  }
}
