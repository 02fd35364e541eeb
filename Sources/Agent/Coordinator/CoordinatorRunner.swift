public import Logging
public import Streams
public import SystemState
public import Timing

/// A service that works for a coordinator: it registers this machine, sends heartbeats, and works on tasks.
///
/// The enrolment, the results that the coordinator does not have yet, and everything that the coordinator counts survive
/// a restart of the program: frequent restarts do not lead to a ban.
///
/// ```swift
/// var options = CoordinatorRunner.Options()
/// options.model = { CoordinatorModel(isReady: true, name: "llama3") }
/// options.answer = { task in "an answer to \(task.input)" }
/// let identity = try MachineIdentity.load(path: folder.identity, hostName: "board")
/// let runner = try CoordinatorRunner(
///   transport: transport, signer: signer, identity: identity, folder: folder,
///   log: EventLog(path: folder.events), options: options)
/// try await runner.run { print("the coordinator accepts heartbeats") }
/// ```
public actor CoordinatorRunner: ComputeRunner {
  /// The settings of the service.
  public struct Options: Sendable {
    /// The version of the program that is reported to the coordinator.
    public var version = "1.0.0"
    /// The token that proves that this machine belongs to an account; `nil` if the coordinator needs none.
    public var registrationToken: String?
    /// The token of the swarm, for a coordinator that does not issue one at registration.
    public var meshToken: String?
    /// The name of the engine: `ollama-local` or `edgecoder-local`.
    public var localModelProvider = "edgecoder-local"
    /// A closure that returns the state of the engine; it must return soon.
    public var model: @Sendable () async -> CoordinatorModel = { CoordinatorModel(isReady: false) }
    /// A closure that answers a task; it must return soon after cancellation.
    public var answer: @Sendable (CoordinatorTask) async throws -> String = { _ in throw CancellationError() }
    /// The policy that decides whether the power supply suffices for work.
    public var policy = AssignmentPolicy.flowChart(FlowChart())
    /// A closure that returns the state of the power supply; `nil` while it is unknown.
    public var power: @Sendable () -> PowerTelemetry? = { nil }
    /// The use of the network.
    public var network = Network()
    /// A closure that returns the kind and load of the machine.
    public var machine: @Sendable () -> MachineTelemetry = { MachineTelemetry() }
    /// The clock for intervals and limits.
    public var time = TimeSource.continuous
    /// The logger for failures of files.
    public var logger = Logger(label: "edgeblue.coordinator")
    /// The wall clock, in milliseconds since 1970.
    package var wallClock = WallClock.unixMilliseconds
    /// The clock since the boot of the machine.
    package var bootClock = BootInstant.system
    /// A source of numbers from 0 to 1 that vary delays.
    package var random: @Sendable () -> Double = { .random(in: 0...1) }

    /// Creates settings with their defaults.
    public init() {}

    var clocks: ClockReading { ClockReading(now: time.now, wallMs: wallClock(), boot: bootClock()) }
  }

  /// The use of the network, and the reactions to what comes from it.
  public struct Network: Sendable {
    /// A closure that returns `true` while traffic is to be spared: heartbeats are then sent every 4 min.
    public var isSparing: @Sendable () -> Bool = { false }
    /// The conduct after a gap in the heartbeats.
    public var afterGap = AfterGap.wait
    /// A closure that finds out why the coordinator cannot be reached; `nil` if it has found no reason.
    public var examine: @Sendable () async -> UnreachableReason? = { nil }
    /// A closure that is called for each request that the coordinator pushes; it must return soon.
    public var onPush: @Sendable (CoordinatorPush) -> Void = { _ in }

    /// Creates settings with their defaults.
    public init() {}
  }

  /// The limit for work, results and requests to end when the service stops: 1 s. Without a network none of them would,
  /// and Bluetooth waits.
  static let goodbyeLimit: Duration = .seconds(1)
  /// The time limit of a request: 15 s.
  public static let answerLimit: Duration = .seconds(15)

  /// The statuses after each change, for one reader.
  public nonisolated let statuses: BoundedStream<CoordinatorStatus>
  private var publisher: CoordinatorStatusPublisher
  let client: CoordinatorClient
  let options: Options
  let log: EventLog
  /// The wake-up when nothing is under way any more that is worth waiting for.
  private let settled = WakeSignal()

  var machine: CoordinatorMachine
  var disk: Disk
  var calls = Calls()
  var work: Task<Void, Never>?
  private var alarm: (instant: Duration?, task: Task<Void, Never>?) = (nil, nil)
  var run: Run?
  /// The start of the outage whose reason was looked for.
  private var examined: Duration?

  /// The files of this coordinator.
  struct Disk {
    let store: CoordinatorStore
    let outbox: ResultOutbox
    /// A Boolean value that indicates whether the last write failed.
    var hasProblem = false
  }

  /// The requests under way.
  struct Calls {
    var tasks: [Int: Task<Void, Never>] = [:]
    var nextNumber = 1
  }

  /// One run, from its start to its end.
  struct Run {
    var whenReady: @Sendable () async -> Void
    var end: BoundedStream<AgentError>.Source
  }

  /// Restores the state at this coordinator; nothing is sent yet.
  /// - Parameters:
  ///   - transport: The transport to the coordinator.
  ///   - signer: The signer with this machine's key.
  ///   - identity: The identity of this machine.
  ///   - folder: The folder of the agent.
  ///   - log: The log for changes of the state at the coordinator.
  ///   - options: The other settings.
  /// - Throws: ``AgentError`` with code `.storage` when the state cannot be read.
  public init(
    transport: any CoordinatorTransport, signer: any RequestSigner, identity: MachineIdentity, folder: StateFolder,
    log: EventLog, options: Options = Options()
  ) throws(AgentError) {
    client = CoordinatorClient(transport: transport, signer: signer, identity: identity, options: options)
    self.options = options
    self.log = log
    let store = CoordinatorStore(path: folder.coordinator, coordinator: transport.address, agentID: identity.agentID)
    let (session, problem) = try store.load(at: options.clocks)
    let outbox = try ResultOutbox(folder: folder.results, coordinator: transport.address)
    disk = Disk(store: store, outbox: outbox)
    let (results, problems) = try outbox.load()
    for problem in [problem?.description].compactMap(\.self) + problems { log.append(.storage, problem) }
    machine = CoordinatorMachine(
      session, agentID: identity.agentID, policy: options.policy, afterGap: options.network.afterGap, results: results,
      firstResult: outbox.nextNumber())
    let status = BoundedStream.make(of: CoordinatorStatus.self, limit: 1)
    statuses = status.stream
    publisher = CoordinatorStatusPublisher(status.source)
  }

  /// Works for the coordinator until the task is cancelled.
  /// - Parameter whenReady: A closure that is called when the coordinator has accepted a heartbeat.
  /// - Throws: ``AgentError`` with code `.refused` when the coordinator refuses this machine. A run within the next 10 min
  ///   throws the same error without a request.
  public func run(whenReady: @escaping @Sendable () async -> Void) async throws {
    let (ends, end) = BoundedStream.make(of: AgentError.self, limit: 1, policy: .dropNewest)
    run = Run(whenReady: whenReady, end: end)
    handle(.start)
    let polling = start { await $0.pollModel() }
    var problem: AgentError?
    for await error in ends {
      problem = error
      break
    }
    run = nil
    polling.cancel()
    handle(.stop)
    await settle()
    handle(.leave)
    for call in calls.tasks.values { call.cancel() }
    for call in calls.tasks.values { await call.value }
    if let problem { throw problem }
  }

  /// Waits until the task has become a result and the coordinator has it, for ``goodbyeLimit`` at most.
  private func settle() async {
    let settled = settled
    let time = options.time
    if machine.isSettled { return }
    let limit = Task {
      do { try await time.sleep(for: Self.goodbyeLimit) } catch { return }
      settled.signal()
    }
    // In a task of its own: this one is cancelled.
    await Task { for await _ in settled.signals { return } }.value
    limit.cancel()
  }

  /// The transport's executor, on which this service works; `nil` for the shared one.
  package nonisolated var taskExecutor: (any TaskExecutor)? { client.transport.taskExecutor }

  /// Starts a task of this service, on the transport's executor.
  @discardableResult
  func start(_ body: @escaping @Sendable (isolated CoordinatorRunner) async -> Void) -> Task<Void, Never> {
    Task(executorPreference: taskExecutor) { await body(self) }
  }

  private func pollModel() async {
    while !Task.isCancelled {
      let model = await options.model()
      if Task.isCancelled { return }
      handle(.model(model))
      // Without tasks for long, less often, and together with a heartbeat.
      let isAsleep = model.isReady && machine.work.isAsleep(at: options.time.now)
      let interval: Duration = model.isReady ? .seconds(isAsleep ? 110 : 30) : .seconds(5)
      do {
        try await options.time.sleep(for: interval, tolerance: isAsleep ? HeartbeatMachine.interval : .zero)
      } catch {
        return
      }
    }
  }

  /// Handles an event, and performs the actions.
  func handle(_ event: CoordinatorMachine.Event) {
    machine.power = options.power()
    machine.machine = options.machine()
    machine.isSparing = options.network.isSparing()
    for action in machine.handle(event, at: options.time.now, random: options.random()) { perform(action) }
    if machine.isSettled, !machine.isActive { settled.signal() }
    setAlarm(machine.wakeAt)
    publisher.publish(machine, client)
    examine()
  }

  /// Handles a tick at an instant; a later call replaces it.
  private func setAlarm(_ instant: Duration?) {
    guard instant != alarm.instant else { return }
    alarm.task?.cancel()
    let task = instant.map { instant in
      start { runner in
        do { try await runner.options.time.sleep(until: instant) } catch { return }
        // The task may have been cancelled while it was woken.
        if Task.isCancelled { return }
        runner.alarm = (nil, nil)
        runner.handle(.tick)
      }
    }
    alarm = (instant, task)
  }

  /// Sends the next request now, also if the coordinator has refused this machine. The service must run, or be run next.
  public func askNow() { handle(.askNow) }

  /// Finds out once per outage why the coordinator cannot be reached.
  private func examine() {
    guard machine.isActive, let since = machine.connection.unreachableSince else {
      publisher.reason = nil
      examined = nil
      return
    }
    guard examined != since else { return }
    examined = since
    start { runner in
      let reason = await runner.options.network.examine()
      guard runner.examined == since else { return }
      runner.publisher.reason = reason
      runner.publisher.publish(runner.machine, runner.client)
    }
  }
}
