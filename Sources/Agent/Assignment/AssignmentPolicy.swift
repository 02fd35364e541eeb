public import SystemState

/// A rule that decides from the machine's power which work it accepts.
///
/// The decision is a pure function of the input:
///
/// ```swift
/// let policy = AssignmentPolicy.flowChart(try FlowChart(batteryThreshold: 30))
/// let decision = policy.decide(.init(power: nil))
/// print(decision.allowsCoordinatorTasks, decision.reason)
/// ```
public enum AssignmentPolicy: Sendable, Hashable {
  /// The flow chart of EdgeCoder: hold in low power mode or below a battery threshold, and accept otherwise.
  case flowChart(FlowChart)
  /// The table that the coordinator itself uses for a phone.
  case coordinatorPhone(CoordinatorPhoneTable)
  /// The table that the coordinator itself uses for any other machine.
  case coordinatorMachine

  /// The values that a policy depends on.
  public struct Input: Sendable, Hashable {
    /// The power supply; `nil` while it is unknown.
    public var power: PowerTelemetry?
    /// The kind and the load of the machine, which only ``AssignmentPolicy/coordinatorMachine`` uses.
    public var machine: MachineTelemetry
    /// The time since the last task was accepted, which only ``AssignmentPolicy/coordinatorPhone(_:)`` uses; `nil` if
    /// there was none.
    public var sinceLastTask: Duration?

    /// Creates an input from its parts.
    public init(
      power: PowerTelemetry?, machine: MachineTelemetry = MachineTelemetry(), sinceLastTask: Duration? = nil
    ) {
      self.power = power
      self.machine = machine
      self.sinceLastTask = sinceLastTask
    }
  }

  /// Returns the decision for an input.
  public func decide(_ input: Input) -> AssignmentDecision {
    switch self {
    case .flowChart(let chart): chart.decide(input.power)
    case .coordinatorPhone(let table): table.decide(input.power, sinceLastTask: input.sinceLastTask)
    case .coordinatorMachine: CoordinatorMachineTable.decide(input.power, input.machine)
    }
  }
}
