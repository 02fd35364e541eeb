package import JSONValues

/// The verdict on a quality-of-service test.
public enum QoSVerdict: Sendable, Hashable, Codable {
  /// The test did what it was to do.
  case passed
  /// The network or the server did not do what it was to do; with the reason.
  case failed(String)
  /// The test could not run; with the reason.
  case notRun(String)
}

/// The result of a quality-of-service test.
public struct QoSResult: Sendable, Hashable, Codable {
  /// The kind of the test.
  public let kind: QoSKind
  /// The number of the objective at the control server.
  public let objective: Int
  /// The target of the test, for display, such as a port or a host.
  public let target: String
  /// The verdict of this client; a control server evaluates the values by its own rules.
  public let verdict: QoSVerdict
  /// The start of the test in nanoseconds since the start of the first one.
  public var startNs: UInt64
  /// The duration of the test in nanoseconds.
  public var durationNs: UInt64
  /// The values by the keys of the protocol.
  package let values: JSONValue

  /// Creates a result.
  package init(
    _ objective: QoSObjective, target: String, _ verdict: QoSVerdict, _ values: [String: JSONValue] = [:]
  ) {
    kind = objective.kind
    self.objective = objective.id
    self.target = String(target.prefix(200))
    self.verdict = verdict
    self.values = .object(values)
    startNs = 0
    durationNs = 0
  }

  /// The element of the list that a control server receives.
  var submitted: JSONValue {
    .object(
      (values.members ?? []) + [
        .init("test_type", .string(kind.rawValue)), .init("qos_test_uid", .number(objective)),
        .init("start_time_ns", .number(startNs)), .init("duration_ns", .number(durationNs)),
      ])
  }
}

/// The results of all quality-of-service tests of a measurement.
public struct QoSReport: Sendable, Hashable, Codable {
  /// The results in the order of their groups.
  public var results: [QoSResult]

  /// Creates a report from its results.
  public init(_ results: [QoSResult]) { self.results = results }

  /// The number of tests that passed.
  public var passed: Int { results.count { $0.verdict == .passed } }
  /// The number of tests that failed.
  public var failed: Int {
    results.count { if case .failed = $0.verdict { true } else { false } }
  }
  /// The number of tests that could not run.
  public var notRun: Int { results.count - passed - failed }
}
