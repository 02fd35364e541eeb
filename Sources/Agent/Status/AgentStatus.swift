public import NetworkPath
public import SystemState

/// What the agent does at one moment, and why: all of it.
public struct AgentStatus: Sendable, Hashable {
  /// The network, as far as the mode depends on it.
  public struct Network: Sendable, Hashable {
    /// Whether there is a way out.
    public var status: PathSnapshot.Status
    /// Why there is none, in words; `nil` when there is one.
    public var reason: String?
    /// The interface it goes through; `nil` without a way out.
    public var interface: String?

    /// Makes it from its parts.
    public init(status: PathSnapshot.Status, reason: String? = nil, interface: String? = nil) {
      self.status = status
      self.reason = reason
      self.interface = interface
    }
  }

  /// What has happened since the agent was started.
  public struct Counters: Sendable, Hashable {
    /// How often the mode went from On to Bluetooth Local by itself.
    public var downgrades = 0
    /// How often a service was started.
    public var starts = 0
    /// How often a service failed.
    public var failures = 0
    /// How often the mode could not be written to disk.
    public var savesFailed = 0

    /// All zero.
    public init() {}
  }

  /// The mode.
  public var mode: ComputeMode
  /// How it came about.
  public var cause: ModeRecord.Cause
  /// Whether nothing runs without external power.
  public var runOnlyWhileCharging: Bool
  /// What runs.
  public var runState: RunState
  /// The phase; `nil` before it is known.
  public var lifecycle: LifecycleSnapshot?
  /// The network; `nil` before it is known.
  public var network: Network?
  /// The power; `nil` before it is known.
  public var power: PowerTelemetry?
  /// What is between this machine and its coordinator; `nil` without a coordinator.
  public var coordinator: CoordinatorStatus?
  /// The queue of uploads; `nil` when the agent does not run it.
  public var uploads: UploadsStatus?
  /// What has happened since the start.
  public var counters: Counters
  /// The newest failure in words; `nil` when there was none.
  public var lastFailure: String?
  /// Why the mode or an event is not on disk; `nil` when all is.
  public var storageProblem: String?
  /// The number of the newest event of the log; 0 for none.
  public var eventCount: Int

  /// Makes a status, for tests of what uses one.
  public init(
    mode: ComputeMode, cause: ModeRecord.Cause = .person, runOnlyWhileCharging: Bool = false,
    runState: RunState = .stopped, lifecycle: LifecycleSnapshot? = nil, network: Network? = nil,
    power: PowerTelemetry? = nil, coordinator: CoordinatorStatus? = nil, uploads: UploadsStatus? = nil,
    counters: Counters = Counters(), lastFailure: String? = nil, storageProblem: String? = nil, eventCount: Int = 0
  ) {
    self.mode = mode
    self.cause = cause
    self.runOnlyWhileCharging = runOnlyWhileCharging
    self.runState = runState
    self.lifecycle = lifecycle
    self.network = network
    self.power = power
    self.coordinator = coordinator
    self.uploads = uploads
    self.counters = counters
    self.lastFailure = lastFailure
    self.storageProblem = storageProblem
    self.eventCount = eventCount
  }

  init(
    machine: ModeMachine, lifecycle: LifecycleSnapshot? = nil, path: PathSnapshot? = nil, power: PowerSnapshot? = nil,
    coordinator: CoordinatorStatus? = nil, uploads: UploadsStatus? = nil, counters: Counters = Counters(),
    lastFailure: String?, storageProblem: String? = nil, eventCount: Int
  ) {
    self.init(
      mode: machine.record.mode, cause: machine.record.cause,
      runOnlyWhileCharging: machine.record.runOnlyWhileCharging, runState: machine.runState,
      lifecycle: lifecycle,
      network: path.map {
        Network(
          status: $0.status, reason: $0.unsatisfiedReason?.description,
          interface: $0.status == .satisfied ? $0.preferredInterface?.name : nil)
      },
      power: power?.telemetry, coordinator: coordinator, uploads: uploads, counters: counters,
      lastFailure: lastFailure, storageProblem: storageProblem, eventCount: eventCount)
  }
}

extension ComputeMode {
  /// What a person gets who chooses the mode, in a sentence.
  public var meaning: String {
    switch self {
    case .off: "nothing is offered"
    case .on: "compute is offered to the swarm over the internet, and earns rewards"
    case .bluetoothLocal: "compute is offered to machines near by over Bluetooth, and earns no rewards"
    }
  }
}
