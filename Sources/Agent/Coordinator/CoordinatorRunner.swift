public import Logging
public import Streams
public import SystemState
public import Timing

/// Takes part in a swarm: registers at a coordinator, tells it that this machine lives, and works for it.
///
/// It does what a `CoordinatorMachine` decides. What is agreed with the coordinator outlives the program, and so do
/// results it does not have yet, and what it counts: starting the program again and again is no way to be banned.
public actor CoordinatorRunner: ComputeRunner {
  /// What the runner works with.
  public struct Options: Sendable {
    /// The version of the program, as the coordinator is told.
    public var version = "1.0.0"
    /// What proves that this machine belongs to an account; `nil` where none is needed.
    public var registrationToken: String?
    /// The token of the swarm, for a coordinator that does not give it to those who register.
    public var meshToken: String?
    /// What runs the models: `ollama-local` or `edgecoder-local`.
    public var localModelProvider = "edgecoder-local"
    /// Says how what runs the models is. Bounded: it returns soon.
    public var model: @Sendable () async -> CoordinatorModel = { CoordinatorModel(isReady: false) }
    /// Answers a task. Cancelled, it ends soon.
    public var answer: @Sendable (CoordinatorTask) async throws -> String = { _ in throw CancellationError() }
    /// Whether power suffices to ask for work.
    public var policy = AssignmentPolicy.flowChart(FlowChart())
    /// What the machine runs on; `nil` while it is not known.
    public var power: @Sendable () -> PowerTelemetry? = { nil }
    /// What else the coordinator is told of the machine.
    public var machine: @Sendable () -> MachineTelemetry = { MachineTelemetry() }
    /// The clock.
    public var time = TimeSource.continuous
    /// Gets what goes wrong with files.
    public var logger = Logger(label: "edgeblue.coordinator")
    /// Milliseconds since 1970.
    package var wallClock = WallClock.unixMilliseconds
    /// The clock since the machine was started.
    package var bootClock = BootInstant.system
    /// 0 to 1.
    package var random: @Sendable () -> Double = { .random(in: 0...1) }

    /// The defaults.
    public init() {}

    var clocks: ClockReading { ClockReading(now: time.now, wallMs: wallClock(), boot: bootClock()) }
  }

  /// How long work, results and calls have to come to an end when all is to stop: without a network nothing will come,
  /// and Bluetooth waits.
  static let goodbyeLimit: Duration = .seconds(1)
  /// How long an answer may take: 15 s.
  public static let answerLimit: Duration = .seconds(15)

  /// What is between this machine and the coordinator, whenever it changes. One reader at a time.
  public nonisolated let statuses: BoundedStream<CoordinatorStatus>
  private var publisher: CoordinatorStatusPublisher
  let client: CoordinatorClient
  let options: Options
  let log: EventLog
  private let (settled, settledSource) = BoundedStream.make(of: Void.self, limit: 1)

  var machine: CoordinatorMachine
  var disk: Disk
  var calls = Calls()
  var work: Task<Void, Never>?
  private var wake: Task<Void, Never>?
  var run: Run?

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

  /// Restores what was agreed with this coordinator; nothing is sent yet.
  /// - Throws: ``AgentError`` with code `.storage`, when that cannot be read.
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
      session, agentID: identity.agentID, policy: options.policy, results: results, firstResult: outbox.nextNumber())
    let status = BoundedStream.make(of: CoordinatorStatus.self, limit: 1)
    statuses = status.stream
    publisher = CoordinatorStatusPublisher(status.source)
  }

  /// Takes part until the task is cancelled.
  /// - Throws: ``AgentError`` with code `.refused`, when the coordinator will not have this machine. Run again soon, it
  ///   throws the same without asking, until it is time to ask.
  public func run(whenReady: @escaping @Sendable () async -> Void) async throws {
    let (ends, end) = BoundedStream.make(of: AgentError.self, limit: 1, policy: .dropNewest)
    run = Run(whenReady: whenReady, end: end)
    handle(.start)
    let asking = Task { await askModel() }
    var problem: AgentError?
    for await error in ends {
      problem = error
      break
    }
    run = nil
    asking.cancel()
    handle(.stop)
    await settle()
    handle(.leave)
    for call in calls.tasks.values { call.cancel() }
    for call in calls.tasks.values { await call.value }
    if let problem { throw problem }
  }

  /// Waits until the task at hand has become a result, and that is with the coordinator; not for long.
  private func settle() async {
    let settled = settled
    let source = settledSource
    let time = options.time
    if machine.isSettled { return }
    let limit = Task {
      do { try await time.sleep(for: Self.goodbyeLimit) } catch { return }
      source.yield(())
    }
    // In a task of its own: this one is cancelled.
    await Task { for await _ in settled { return } }.value
    limit.cancel()
  }

  private func askModel() async {
    while !Task.isCancelled {
      let model = await options.model()
      if Task.isCancelled { return }
      handle(.model(model))
      do { try await options.time.sleep(for: model.isReady ? .seconds(15) : .seconds(5)) } catch { return }
    }
  }

  /// Takes in an event and does what follows from it.
  func handle(_ event: CoordinatorMachine.Event) {
    machine.power = options.power()
    machine.machine = options.machine()
    for action in machine.handle(event, at: options.time.now, random: options.random()) { perform(action) }
    if machine.isSettled, !machine.isActive { settledSource.yield(()) }
    wake?.cancel()
    wake = machine.wakeAt.map { instant in
      Task {
        do { try await options.time.sleep(until: instant) } catch { return }
        // Cancelled while it was woken.
        if !Task.isCancelled { handle(.tick) }
      }
    }
    publisher.publish(machine, client)
  }
}
