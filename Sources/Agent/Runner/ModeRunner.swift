public import Logging
public import NetworkPath
public import Streams
public import SystemState
public import Timing

/// A service that runs a ``ModeMachine``: it passes on changes of the network, the power and the user's choice, and
/// starts and stops the services of the mode.
///
/// All actions of one event are performed in order before the next event is handled. The values in ``status`` were
/// decided by then, and the mode in it is on disk unless ``AgentStatus/storageProblem`` says otherwise.
///
/// ```swift
/// let paths = try await NetworkPathMonitor.start()
/// let powers = try await PowerMonitor.start()
/// let runner = try ModeRunner(
///   store: folder.modes, log: EventLog(path: folder.events), phone: phone, heartbeat: heartbeat)
/// await runner.take(paths.path)
/// await runner.take(powers.snapshot)
/// await runner.choose(.bluetoothLocal)
/// try await runner.run(paths: paths.updates(), powers: powers.updates())
/// ```
public actor ModeRunner {
  /// The settings of a runner.
  public struct Options: Sendable {
    /// The duration in which a service has to stop; 8 s by default, less than the 10 s that a program has to end.
    public var stopLimit: Duration = .seconds(8)
    /// The duration for which a service has to work until its earlier failures no longer count; 1 min by default.
    public var steadyAfter: Duration = .seconds(60)
    /// The delays before a service that failed, or a write that failed, is tried again: 1 s to 1 min by default.
    public var backoff = Backoff(base: .seconds(1), limit: .seconds(60), jitter: 0.5...1)
    /// The delays before the loss of the network changes the mode.
    public var networkDelays = NetworkDelays()
    /// The conditions under which the mode returns to On without the user; never by default.
    public var returnToOn = ReturnToOn.never
    /// A Boolean value that indicates whether nothing runs for the swarm while the network is metered.
    public var pausesOnMetered = false
    /// The duration of an outage of the coordinator after which Bluetooth Local is offered to the user; 10 min by default.
    public var localOfferDelay: Duration = .seconds(600)
    /// A closure that does now what would be done at its time anyway; it must return soon.
    public var push: @Sendable (CoordinatorPush) async -> Void = { _ in }
    /// A closure that shows the user a notice they did not ask for; it must return soon.
    public var notify: @Sendable (ModeMachine.Notice) -> Void = { _ in }
    /// The logger for failures of services and files.
    public var logger = Logger(label: "edgeblue.agent")

    /// The clock for delays and limits.
    public var time = TimeSource.continuous
    /// A source of numbers from 0 to 1 for the jitter.
    package var random: @Sendable () -> Double = { .random(in: 0...1) }

    /// Creates settings with their defaults.
    public init() {}
  }

  /// The phases of a runner.
  enum Phase: Sendable, Hashable {
    /// The mode is restored, and ``run(paths:powers:)`` was not called yet.
    case created
    /// The mode is applied.
    case running
    /// All services are about to stop.
    case stopping
    /// The run has ended. Events of services that still work have no effect.
    case stopped
  }

  /// The services of the modes, and what runs of them.
  struct Services {
    /// A service that was started and has not ended.
    struct Job {
      /// The number that distinguishes this start from others of the same service.
      var number: Int
      var work: Task<Void, Never>
      /// The instant since which the service works; `nil` before that.
      var worksSince: Duration?
      /// The limit for a service that is to stop.
      var stopTimer: Task<Void, Never>?
    }

    let runners: [ComputeService: any ComputeRunner]
    var jobs: [ComputeService: Job] = [:]
    var nextJob = 1
    /// The failures in a row, and the reason of the newest.
    var failures: [ComputeService: (count: Int, reason: String)] = [:]
    var retries: [ComputeService: Task<Void, Never>] = [:]
  }

  /// The changes of the network that the mode follows.
  struct Network {
    var gate: NetworkGate
    /// The timer for a loss that does not count yet.
    var timer: Task<Void, Never>?
  }

  /// An outage of the coordinator.
  struct Outage {
    /// Its start by the wall clock, which identifies it.
    var sinceMs: Int64
    /// The instant at which it was first heard of.
    var noticedAt: Duration
    /// A Boolean value that indicates whether Bluetooth Local was offered to the user.
    var isLocalOffered = false
  }

  /// The mode on disk.
  struct Storage {
    let save: @Sendable (ModeRecord) throws(AgentError) -> Void
    /// The error of the newest write, and the number of failures in a row; `nil` after one that succeeded.
    var failure: (error: AgentError, count: Int)?
    var retry: Task<Void, Never>?
  }

  /// The log of everything that happened to the agent.
  public nonisolated let log: EventLog
  nonisolated let options: Options
  private nonisolated let feed: UpdateFeed<AgentStatus>
  private let restored: AgentStatus
  let ends: BoundedStream<AgentError?>
  let end: BoundedStream<AgentError?>.Source

  var phase = Phase.created
  var machine: ModeMachine
  var services: Services
  var storage: Storage
  var network: Network
  var publisher: AgentStatusPublisher
  private var outage: Outage?

  /// Restores the mode; ``run(paths:powers:)`` applies it.
  /// - Parameters:
  ///   - store: The file of the mode.
  ///   - log: The log that receives an event for each change.
  ///   - phone: The service of ``ComputeMode/bluetoothLocal``.
  ///   - heartbeat: The service of ``ComputeMode/on``.
  ///   - options: The other settings.
  /// - Throws: ``AgentError`` with code `.storage` when the file exists and cannot be read.
  public init(
    store: ModeStore, log: EventLog, phone: any ComputeRunner, heartbeat: any ComputeRunner,
    options: Options = Options()
  ) throws(AgentError) {
    let save = { @Sendable (record: ModeRecord) throws(AgentError) in try store.save(record) }
    self.init(
      restored: try store.load(), log: log, services: Services(runners: [.phone: phone, .heartbeat: heartbeat]),
      options: options, save: save)
  }

  init(
    restored: Restored<ModeRecord>, log: EventLog, services: Services, options: Options,
    save: @escaping @Sendable (ModeRecord) throws(AgentError) -> Void
  ) {
    machine = ModeMachine(restored.value, returnToOn: options.returnToOn, pausesOnMetered: options.pausesOnMetered)
    network = Network(gate: NetworkGate(options.networkDelays))
    self.log = log
    self.options = options
    self.services = services
    storage = Storage(save: save)
    (ends, end) = BoundedStream.make(limit: 1, policy: .dropNewest)
    if let problem = restored.problem { log.append(.storage, problem.description) }
    let publisher = AgentStatusPublisher(
      machine, lastFailure: restored.problem?.description, eventCount: log.count)
    self.publisher = publisher
    feed = publisher.feed
    self.restored = publisher.first
  }

  /// The newest status of the agent.
  public nonisolated var status: AgentStatus { feed.newest ?? restored }

  /// Returns the newest status and every one that follows, until the runner has stopped.
  /// - Parameter limit: The number of statuses that wait for a slow reader, 1 or more; beyond it the oldest is dropped.
  public nonisolated func statuses(limit: Int = 1) -> BoundedStream<AgentStatus> { feed.updates(limit: limit) }

  /// Returns the newest status and every one that follows and differs in a part, until the runner has stopped: a reader of
  /// that part does not wake for each heartbeat.
  ///
  /// ```swift
  /// for await status in runner.statuses(changing: \.mode) { print(status.mode) }
  /// ```
  /// - Parameters:
  ///   - limit: The number of statuses that wait for a slow reader, 1 or more; beyond it the oldest is dropped.
  ///   - part: A closure that returns the part; it must return soon.
  public nonisolated func statuses<Part: Equatable & Sendable>(
    limit: Int = 1, changing part: @escaping @Sendable (AgentStatus) -> Part
  ) -> BoundedStream<AgentStatus> {
    feed.updates(limit: limit, changing: part)
  }

  /// Applies the mode, and works until the task is cancelled; then stops all services, and returns when they have ended.
  ///
  /// A runner runs once.
  /// - Parameters:
  ///   - paths: The updates of a `NetworkPathMonitor`.
  ///   - powers: The updates of a `PowerMonitor`.
  /// - Throws: ``AgentError`` with code `.serviceHangs` when a service does not stop, and `.inputEnded` when a monitor
  ///   has ended. The program must then end and be started again: the service may still work, and two must never.
  public func run(paths: BoundedStream<PathUpdate>, powers: BoundedStream<PowerUpdate>) async throws {
    precondition(phase == .created, "a runner runs once")
    phase = .running
    handle(.start)
    follow(.start)
    let inputs = [
      Task {
        for await update in paths { take(update.path) }
        finish(AgentError(.inputEnded, "the stream of network updates has ended"))
      },
      Task {
        for await update in powers { take(update.snapshot) }
        finish(AgentError(.inputEnded, "the stream of power updates has ended"))
      },
    ]
    // A task of its own, because a cancelled one could not wait.
    let ends = ends
    let waiter = Task { () -> AgentError? in
      for await problem in ends { return problem }
      return nil
    }
    let problem = await withTaskCancellationHandler {
      await waiter.value
    } onCancel: {
      Task { await self.shutDown() }
    }
    phase = .stopped
    for task in inputs + services.jobs.values.map(\.work) { task.cancel() }
    cancelTimers()
    feed.end()
    if let problem { throw problem }
  }

  /// Returns as soon as the runner has time for events, which shows a watchdog that it is alive.
  public func respond() {}

  /// Handles a change of the network; a loss counts after ``Options/networkDelays``. The first call, before ``run(paths:powers:)``, keeps services from starting in
  /// vain.
  /// - Parameter path: The state of the network now.
  public func take(_ path: PathSnapshot) {
    publisher.reports.path = path
    if path.isExpensive != machine.isMetered { handle(.metered(path.isExpensive)) }
    if path.status == .satisfied {
      follow(.found)
    } else {
      follow(.lost(because: path.unsatisfiedReason?.description ?? "the reason is unknown"))
    }
    publish()
  }

  /// Handles the appearance of the first Bluetooth adapter, or the removal of the last one. Before the first call there
  /// is assumed to be one.
  public func take(hasBluetooth: Bool) { handle(.bluetooth(isAvailable: hasBluetooth)) }

  /// Handles a change of the power. The first call, before ``run(paths:powers:)``, keeps services from starting in vain.
  /// - Parameter power: The state of the power supply now.
  public func take(_ power: PowerSnapshot) {
    publisher.reports.power = power
    handle(.power(onExternalPower: power.telemetry.onExternalPower))
  }

  /// Reports the lifecycle phase in ``status``. While the host is about to sleep, and for some time after, the loss of
  /// the network does not change the mode.
  public func take(_ lifecycle: LifecycleSnapshot) {
    publisher.reports.lifecycle = lifecycle
    follow(lifecycle.phase == .suspending ? .sleep : .wake)
    publish()
  }

  /// Reports the status of the coordinator's client in ``status``.
  public func take(_ coordinator: CoordinatorStatus) {
    publisher.reports.coordinator = coordinator
    offerLocal(coordinator.health.unreachableSinceMs)
    publish()
  }

  /// Offers Bluetooth Local to the user once per outage of the coordinator, when it has lasted.
  private func offerLocal(_ sinceMs: Int64?) {
    guard let sinceMs, machine.record.mode == .on, machine.hasBluetooth else {
      outage = nil
      return
    }
    let now = options.time.now
    var known = outage.flatMap { $0.sinceMs == sinceMs ? $0 : nil } ?? Outage(sinceMs: sinceMs, noticedAt: now)
    if !known.isLocalOffered, now - known.noticedAt >= options.localOfferDelay {
      known.isLocalOffered = true
      log.append(.coordinator, "the coordinator cannot be reached for long; Bluetooth Local is possible")
      options.notify(.localPossible)
    }
    outage = known
  }

  /// Reports the status of the loop of speed tests in ``status``.
  public func take(_ loop: SpeedTestLoopStatus) {
    publisher.reports.loop = loop
    publish()
  }

  /// Reports the status of the coverage measurement in ``status``.
  public func take(_ coverage: CoverageMeasurementStatus) {
    publisher.reports.coverage = coverage
    publish()
  }

  /// Reports the status of the upload queue in ``status``.
  public func take(_ uploads: UploadsStatus) {
    publisher.reports.uploads = uploads
    publish()
  }

  /// Changes the mode as the user chose.
  /// - Returns: The status after the change. Without a network, On becomes Bluetooth Local at once.
  @discardableResult
  public func choose(_ mode: ComputeMode) -> AgentStatus {
    services.failures = [:]
    let failed = storage.failure?.count
    handle(.choose(mode))
    // A choice of the present mode is written again as well, if it is not on disk.
    if let failed, storage.failure?.count == failed { persistAgain() }
    return status
  }

  /// Does now what would be done at its time anyway.
  public nonisolated func push(_ what: CoordinatorPush) async { await options.push(what) }

  /// Changes the setting that nothing runs without external power.
  /// - Returns: The status after the change.
  @discardableResult
  public func setRunOnlyWhileCharging(_ only: Bool) -> AgentStatus {
    if only != machine.record.runOnlyWhileCharging {
      log.append(.setting, "the user lets services run " + (only ? "on external power only" : "on battery, too"))
    }
    handle(.setRunOnlyWhileCharging(only))
    return status
  }
}
