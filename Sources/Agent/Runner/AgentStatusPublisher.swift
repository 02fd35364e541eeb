internal import NetworkPath
internal import Streams
internal import SystemState

/// The publisher of the agent's status: everything that is reported and that no decision of the mode depends on.
struct AgentStatusPublisher {
  /// The newest reports of the monitors and services beside the runner; each is `nil` before the first report.
  struct Reports {
    var lifecycle: LifecycleSnapshot?
    var path: PathSnapshot?
    var power: PowerSnapshot?
    var coordinator: CoordinatorStatus?
    var uploads: UploadsStatus?
    var loop: SpeedTestLoopStatus?
    var coverage: CoverageMeasurementStatus?
  }

  /// The status before anything was published.
  let first: AgentStatus
  /// The stream of statuses.
  let feed: UpdateFeed<AgentStatus>
  /// The newest reports of the monitors and services beside the runner.
  var reports = Reports()
  /// The counters since the start of the agent.
  var counters = AgentStatus.Counters()
  /// The newest failure in words; `nil` if there was none.
  var lastFailure: String?

  /// Creates a publisher, and publishes the first status.
  init(_ machine: ModeMachine, lastFailure: String?, eventCount: Int) {
    self.lastFailure = lastFailure
    var first = AgentStatus(machine)
    first.lastFailure = lastFailure
    first.eventCount = eventCount
    self.first = first
    feed = UpdateFeed(first)
  }

  /// Publishes the present status to all subscribers, unless it is the newest one already.
  /// - Parameter storageProblem: The error of the newest write; `nil` if it succeeded.
  func publish(_ machine: ModeMachine, storageProblem: AgentError?, eventCount: Int) {
    var status = AgentStatus(machine)
    status.lifecycle = reports.lifecycle
    status.network = reports.path.map(AgentStatus.Network.init)
    status.power = reports.power?.telemetry
    status.coordinator = reports.coordinator
    status.uploads = reports.uploads
    status.loop = reports.loop
    status.coverage = reports.coverage
    status.counters = counters
    status.lastFailure = lastFailure
    status.storageProblem = storageProblem?.description
    status.eventCount = eventCount
    if status != feed.newest { feed.publish(status) }
  }
}

extension AgentStatus {
  /// Creates the part of a status that the mode's state machine decides.
  init(_ machine: ModeMachine) {
    self.init(
      mode: machine.record.mode, cause: machine.record.cause,
      runOnlyWhileCharging: machine.record.runOnlyWhileCharging, runState: machine.runState)
  }
}

extension AgentStatus.Network {
  /// Creates a summary of a network path.
  init(_ path: PathSnapshot) {
    self.init(
      status: path.status, reason: path.unsatisfiedReason?.description,
      interface: path.status == .satisfied ? path.preferredInterface?.name : nil)
    isMetered = path.isExpensive
  }
}
