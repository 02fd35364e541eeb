internal import DBus

extension SpeedTestLoopStatus {
  /// Creates a status from D-Bus properties, or returns `nil` if the agent carries no loop.
  init?(properties: [String: Value]) {
    guard let state = properties["LoopState"]?.string else { return nil }
    self.init(
      state: state, begun: properties["LoopBegun"]?.integer() ?? 0, tests: properties["LoopTests"]?.integer() ?? 0,
      outcomes: properties["LoopOutcomes"]?.counts ?? [:], dueAtMs: properties["LoopDueAtMs"]?.integer())
    problem = properties["LoopProblem"]?.string
  }
}
