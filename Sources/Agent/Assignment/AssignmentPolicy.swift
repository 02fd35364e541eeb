public import SystemState

/// Decides from a machine's power whether it takes work. A pure function: the same input, the same decision.
public enum AssignmentPolicy: Sendable, Hashable {
  /// EdgeCoder's flow chart: hold in the low power mode, hold below a threshold, else take; also on battery.
  case flowChart(FlowChart)
  /// What the coordinator itself decides about a phone.
  case coordinatorPhone(CoordinatorPhoneTable)
  /// What the coordinator itself decides about any other machine.
  case coordinatorMachine

  /// All a policy may look at.
  public struct Input: Sendable, Hashable {
    /// What the machine runs on; `nil` when it has not said.
    public var power: PowerTelemetry?
    /// What else is known of it. Only ``AssignmentPolicy/coordinatorMachine`` looks at that.
    public var machine: MachineTelemetry
    /// How long ago it took its last task; `nil` for never. Only ``AssignmentPolicy/coordinatorPhone(_:)`` looks at
    /// that.
    public var sinceLastTask: Duration?

    /// Makes an input.
    public init(
      power: PowerTelemetry?, machine: MachineTelemetry = MachineTelemetry(), sinceLastTask: Duration? = nil
    ) {
      self.power = power
      self.machine = machine
      self.sinceLastTask = sinceLastTask
    }
  }

  /// The decision.
  public func decide(_ input: Input) -> AssignmentDecision {
    switch self {
    case .flowChart(let chart): chart.decide(input.power)
    case .coordinatorPhone(let table): table.decide(input.power, sinceLastTask: input.sinceLastTask)
    case .coordinatorMachine: CoordinatorMachineTable.decide(input.power, input.machine)
    }
  }
}
