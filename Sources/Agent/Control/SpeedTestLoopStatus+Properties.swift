internal import DBus

extension SpeedTestLoopStatus {
  /// The properties of `io.edgecoder.Agent1` that describe a loop, without values if the agent carries none.
  static func properties(of loop: Self?) -> [AgentStatus.Property] {
    [
      ("LoopState", "s", loop.map { .string($0.state) }),
      ("LoopBegun", "t", loop.map { .uint64(UInt64(clamping: $0.begun)) }),
      ("LoopTests", "t", loop.map { .uint64(UInt64(clamping: $0.tests)) }),
      ("LoopOutcomes", "a{st}", loop.map { .counts($0.outcomes) }),
      ("LoopDueAtMs", "x", loop?.dueAtMs.map(Value.int64)),
      ("LoopProblem", "s", loop?.problem.map(Value.string)),
    ]
  }

  /// Creates a status from D-Bus properties, or returns `nil` if the agent carries no loop.
  init?(properties: [String: Value]) {
    guard let state = properties["LoopState"]?.string else { return nil }
    self.init(
      state: state, begun: properties["LoopBegun"]?.integer() ?? 0, tests: properties["LoopTests"]?.integer() ?? 0,
      outcomes: properties["LoopOutcomes"]?.counts ?? [:], dueAtMs: properties["LoopDueAtMs"]?.integer())
    problem = properties["LoopProblem"]?.string
  }
}
