public import NetworkPath
public import SystemState

/// The complete status of the agent at one instant.
public struct AgentStatus: Sendable, Hashable {
  /// The part of the network state that the mode depends on.
  public struct Network: Sendable, Hashable {
    /// The status of the network path.
    public var status: PathSnapshot.Status
    /// The reason why there is no default route, for display; `nil` if there is one.
    public var reason: String?
    /// The interface of the default route; `nil` if there is none.
    public var interface: String?
    /// A Boolean value that indicates whether the traffic may cost money.
    public var isMetered = false

    /// Creates a summary from its parts.
    public init(status: PathSnapshot.Status, reason: String? = nil, interface: String? = nil) {
      self.status = status
      self.reason = reason
      self.interface = interface
    }
  }

  /// The counters since the start of the agent.
  public struct Counters: Sendable, Hashable {
    /// The number of automatic changes from On to Bluetooth Local.
    public var downgrades = 0
    /// The number of times that a service was started.
    public var starts = 0
    /// The number of times that a service failed.
    public var failures = 0
    /// The number of times that the mode could not be written to disk.
    public var savesFailed = 0

    /// Creates counters that are all zero.
    public init() {}
  }

  /// The compute mode in force.
  public var mode: ComputeMode
  /// The compute mode that the user chose: ``ComputeMode/on`` where the loss of the network changed it.
  public var chosenMode: ComputeMode { ModeRecord(mode: mode, cause: cause).chosenMode }
  /// The cause of the present mode.
  public var cause: ModeRecord.Cause
  /// A Boolean value that indicates whether services run on external power only.
  public var runOnlyWhileCharging: Bool
  /// The state of the service of the mode.
  public var runState: RunState
  /// The lifecycle phase; `nil` before it is known.
  public var lifecycle: LifecycleSnapshot?
  /// The state of the network; `nil` before it is known.
  public var network: Network?
  /// The state of the power supply; `nil` before it is known.
  public var power: PowerTelemetry?
  /// The state of this machine at its coordinator; `nil` without a coordinator.
  public var coordinator: CoordinatorStatus?
  /// The state of the upload queue; `nil` if the agent does not run it.
  public var uploads: UploadsStatus?
  /// The state of the loop of speed tests; `nil` if the agent does not carry it.
  public var loop: SpeedTestLoopStatus?
  /// The state of the coverage measurement; `nil` if the agent does not carry it.
  public var coverage: CoverageMeasurementStatus?
  /// The counters since the start of the agent.
  public var counters = Counters()
  /// The newest failure in words; `nil` if there was none.
  public var lastFailure: String?
  /// The reason why the mode or an event is not on disk; `nil` if everything is.
  public var storageProblem: String?
  /// The number of the newest event of the log; 0 if there is none.
  public var eventCount = 0

  /// Creates a status from its first parts; the others are unknown or zero until they are set.
  public init(
    mode: ComputeMode, cause: ModeRecord.Cause = .person, runOnlyWhileCharging: Bool = false,
    runState: RunState = .stopped, lifecycle: LifecycleSnapshot? = nil, network: Network? = nil
  ) {
    self.mode = mode
    self.cause = cause
    self.runOnlyWhileCharging = runOnlyWhileCharging
    self.runState = runState
    self.lifecycle = lifecycle
    self.network = network
  }
}

extension ComputeMode {
  /// The consequence of choosing the mode, in a sentence for display.
  public var meaning: String {
    switch self {
    case .off: "nothing is offered"
    case .on: "compute is offered to the swarm over the internet, and earns rewards"
    case .bluetoothLocal: "compute is offered to machines near by over Bluetooth, and earns no rewards"
    }
  }
}
