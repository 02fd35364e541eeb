public import FoundationEssentials
internal import JSONValues

/// The loop that a requested test belongs to, as control servers store it beside the test.
public struct ControlLoop: Sendable, Hashable {
  /// The identifier of the loop, which the client has made.
  public var id: UUID
  /// The number of the test in the loop, from 1. The repetition of a failed test has the same number.
  public var test: Int
  /// The plan of the loop.
  public var plan: LoopPlan

  /// Creates a reference to a test of a loop.
  /// - Parameters:
  ///   - id: The identifier of the loop.
  ///   - test: The number of the test in the loop, from 1.
  ///   - plan: The plan of the loop.
  public init(id: UUID, test: Int, plan: LoopPlan) {
    self.id = id
    self.test = test
    self.plan = plan
  }

  /// The object `loopmode_info`. Its delay is in minutes, as the clients of control servers send it.
  var members: [String: JSONValue] {
    var members: [String: JSONValue] = [
      "loop_uuid": .string(id.uuidString.lowercased()), "test_counter": .number(test),
      "max_tests": .number(plan.tests), "max_delay": .number(max(plan.delayMs / 60_000, 1)),
    ]
    members["max_movement"] = plan.movement.map { .number(Int($0.rounded())) }
    return members
  }
}
