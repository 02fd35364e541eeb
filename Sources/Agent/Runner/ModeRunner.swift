public import Logging
public import NetworkPath
public import Streams
public import SystemState
public import Timing

/// Runs a ``ModeMachine``: gives it what the network, the power and a person say, and does what it decides.
///
/// Everything one event leads to is done in one go and in order, before the next event is looked at. What is reported
/// in ``status`` was decided by then, and what it says of the mode is on disk, unless it says that it is not.
public actor ModeRunner {
  /// What the runner works with.
  public struct Options: Sendable {
    /// How long a service may take to stop, 8 s by default: less than the 10 s that a program gets to end.
    public var stopLimit: Duration = .seconds(8)
    /// How long a service has to work until its earlier failures no longer count, 1 min by default.
    public var steadyAfter: Duration = .seconds(60)
    /// When something is tried again.
    public var backoff = Backoff(base: .seconds(1), limit: .seconds(60), jitter: 0.5...1)
    /// Told of what a person should know though they did not ask. Returns soon.
    public var notify: @Sendable (ModeMachine.Notice) -> Void = { _ in }
    /// Gets what goes wrong.
    public var logger = Logger(label: "edgeblue.agent")

    /// The clock.
    public var time = TimeSource.continuous
    /// 0 to 1.
    package var random: @Sendable () -> Double = { .random(in: 0...1) }

    /// The defaults.
    public init() {}
  }

  /// A service that was started and has not ended.
  struct Job {
    /// Tells it from others of the same service.
    var number: Int
    var work: Task<Void, Never>
    /// Since when it works; `nil` before it does.
    var worksSince: Duration?
    /// Sees to it that it stops in time, when it is to.
    var stopTimer: Task<Void, Never>?
  }

  /// What has happened.
  public nonisolated let log: EventLog
  let options: Options
  let runners: [ComputeService: any ComputeRunner]
  let save: @Sendable (ModeRecord) throws(AgentError) -> Void
  let feed: UpdateFeed<AgentStatus>
  private let restored: AgentStatus
  let ends: BoundedStream<AgentError?>
  let end: BoundedStream<AgentError?>.Source

  var machine: ModeMachine
  var lifecycle: LifecycleSnapshot?
  var path: PathSnapshot?
  var power: PowerSnapshot?
  var coordinator: CoordinatorStatus?
  var uploads: UploadsStatus?
  var counters = AgentStatus.Counters()
  var lastFailure: String?
  var storageProblem: AgentError?
  var jobs: [ComputeService: Job] = [:]
  var nextJob = 1
  /// Failures in a row, and the newest of them.
  var failures: [ComputeService: (count: Int, reason: String)] = [:]
  var retries: [ComputeService: Task<Void, Never>] = [:]
  var savesFailed = 0
  var saveRetry: Task<Void, Never>?
  private var hasBegun = false
  var isEnding = false
  /// Whether the run has ended: what services still do then leads to nothing.
  private(set) var isOver = false

  /// Restores the mode; ``run(paths:powers:)`` applies it.
  /// - Parameters:
  ///   - store: where the mode is kept.
  ///   - log: where events are kept.
  ///   - phone: what works in Bluetooth Local.
  ///   - heartbeat: what works in On.
  ///   - options: everything else.
  /// - Throws: ``AgentError`` with code `.storage`, when the mode is there and cannot be read.
  public init(
    store: ModeStore, log: EventLog, phone: any ComputeRunner, heartbeat: any ComputeRunner,
    options: Options = Options()
  ) throws(AgentError) {
    self.init(
      restored: try store.load(), log: log, phone: phone, heartbeat: heartbeat, options: options,
      save: { record throws(AgentError) in try store.save(record) })
  }

  init(
    restored: ModeStore.Loaded, log: EventLog, phone: any ComputeRunner, heartbeat: any ComputeRunner,
    options: Options, save: @escaping @Sendable (ModeRecord) throws(AgentError) -> Void
  ) {
    machine = ModeMachine(restored.record)
    self.log = log
    self.options = options
    self.save = save
    runners = [.phone: phone, .heartbeat: heartbeat]
    (ends, end) = BoundedStream.make(limit: 1, policy: .dropNewest)
    if let problem = restored.problem {
      log.append(.storage, problem.description)
      lastFailure = problem.description
    }
    self.restored = AgentStatus(machine: machine, lastFailure: lastFailure, eventCount: log.count)
    feed = UpdateFeed(self.restored)
  }

  /// What runs, and why.
  public nonisolated var status: AgentStatus { feed.newest ?? restored }

  /// The newest status, and then every one that follows, until the runner has ended. A reader that is too slow loses
  /// the oldest.
  /// - Parameter limit: how many may wait for the reader, 1 or more.
  public nonisolated func statuses(limit: Int = 1) -> BoundedStream<AgentStatus> { feed.updates(limit: limit) }

  /// Applies the mode and goes on until the task is cancelled; then stops what runs, and returns when that has ended.
  /// Once.
  /// - Parameters:
  ///   - paths: what the network says, of a `NetworkPathMonitor`.
  ///   - powers: what the power says, of a `PowerMonitor`.
  /// - Throws: ``AgentError``: `.serviceHangs` when a service does not stop, and `.inputEnded` when a monitor has
  ///   ended. The program has to end then, and be started again: the service may still be at work, and two must never.
  public func run(paths: BoundedStream<PathUpdate>, powers: BoundedStream<PowerUpdate>) async throws {
    precondition(!hasBegun, "a runner runs once")
    hasBegun = true
    handle(.start)
    let inputs = [
      Task {
        for await update in paths { take(update.path) }
        finish(AgentError(.inputEnded, "nothing tells of the network any more"))
      },
      Task {
        for await update in powers { take(update.snapshot) }
        finish(AgentError(.inputEnded, "nothing tells of the power any more"))
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
    (isEnding, isOver) = (true, true)
    for task in inputs + jobs.values.map(\.work) { task.cancel() }
    cancelTimers()
    feed.end()
    if let problem { throw problem }
  }

  /// Returns when the runner has time for events: whoever watches over it sees that it does.
  public func respond() {}

  /// Takes in what the network is now. Whoever runs this calls it once before, so that nothing is started in vain.
  public func take(_ path: PathSnapshot) {
    self.path = path
    if path.status == .satisfied {
      handle(.networkFound)
    } else {
      handle(.networkLost(because: path.unsatisfiedReason?.description ?? "it is not known why"))
    }
  }

  /// Takes in what the power is now, as what the network is.
  public func take(_ power: PowerSnapshot) {
    self.power = power
    handle(.power(onExternalPower: power.telemetry.onExternalPower))
  }

  /// Takes in what the phase is now, to report it.
  public func take(_ lifecycle: LifecycleSnapshot) {
    self.lifecycle = lifecycle
    publish()
  }

  /// Takes in what is between this machine and its coordinator, to report it.
  public func take(_ coordinator: CoordinatorStatus) {
    self.coordinator = coordinator
    publish()
  }

  /// Takes in how the queue of uploads is, to report it.
  public func take(_ uploads: UploadsStatus) {
    self.uploads = uploads
    publish()
  }

  /// A person chooses a mode.
  /// - Returns: what came of it: without a network, On is Bluetooth Local at once.
  @discardableResult
  public func choose(_ mode: ComputeMode) -> AgentStatus {
    failures = [:]
    let failed = savesFailed
    handle(.choose(mode))
    // Who chooses what there is already wants it kept, too.
    if failed > 0, savesFailed == failed { persistAgain() }
    return status
  }

  /// A person sets whether nothing runs without external power.
  /// - Returns: what came of it.
  @discardableResult
  public func setRunOnlyWhileCharging(_ only: Bool) -> AgentStatus {
    if only != machine.record.runOnlyWhileCharging {
      log.append(.setting, "a person lets it run " + (only ? "on external power only" : "on battery, too"))
    }
    handle(.setRunOnlyWhileCharging(only))
    return status
  }
}
