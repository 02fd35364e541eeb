internal import DBus

extension CoverageMeasurementStatus {
  /// The properties of `io.edgecoder.Agent1` that describe a measurement, without values if the agent carries none.
  static func properties(of coverage: Self?) -> [AgentStatus.Property] {
    [
      ("CoverageState", "s", coverage.map { .string($0.state) }),
      ("CoverageTechnology", "s", coverage?.technology.map(Value.string)),
      ("CoverageFences", "t", coverage.map { .uint64(UInt64(clamping: $0.fences)) }),
      ("CoveragePings", "a{st}", coverage.map { .counts($0.pings) }),
      ("CoverageSession", "s", coverage?.session.map(Value.string)),
      ("CoverageWaiting", "t", coverage.map { .uint64(UInt64(clamping: $0.waiting)) }),
      ("CoverageSendings", "a{st}", coverage.map { .counts($0.sendings) }),
      ("CoverageProblem", "s", coverage?.problem.map(Value.string)),
    ]
  }

  /// Creates a status from D-Bus properties, or returns `nil` if the agent carries no measurement.
  init?(properties: [String: Value]) {
    guard let state = properties["CoverageState"]?.string else { return nil }
    self.init(state: state)
    technology = properties["CoverageTechnology"]?.string
    fences = properties["CoverageFences"]?.integer() ?? 0
    pings = properties["CoveragePings"]?.counts ?? [:]
    session = properties["CoverageSession"]?.string
    waiting = properties["CoverageWaiting"]?.integer() ?? 0
    sendings = properties["CoverageSendings"]?.counts ?? [:]
    problem = properties["CoverageProblem"]?.string
  }
}
