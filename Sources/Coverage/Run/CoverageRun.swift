internal import ErrorReporting
internal import FoundationEssentials
public import Logging
public import Streams
public import Timing

/// A run of a coverage measurement: it pings, follows locations, and stores each fence.
///
/// It runs until its task is cancelled, which is the usual end. What it has stored by then is complete; a
/// ``CoverageSender`` sends it.
public actor CoverageRun {
  /// The settings of a run.
  public struct Options: Sendable {
    /// The name of the interface that pings must take; `nil` for the one of the route.
    public var interface: String?
    /// The time after which the run ends; at most 4 hours.
    public var limit = CoverageGrant.longest
    /// A place that gets each finished session before the control server does; `nil` for none.
    public var destination: (any CoverageDestination)?
    /// The logger for errors that cannot be returned.
    public var logger = Logger(label: "edgeblue.coverage")
    /// A Boolean value that indicates whether the run sends what is finished; otherwise its owner does.
    package var sendsFinished = true

    /// Creates settings with their defaults.
    public init() {}
  }

  /// A change of the surroundings of a run.
  public enum Input: Sendable {
    /// A location was measured by a receiver.
    case location(CoverageLocation)
    /// The source of locations has none.
    case locationLost
    /// The mobile network is of another technology.
    case technology(CoverageTechnology)
    /// Packets take another kind of network.
    case network(CoverageNetwork)
  }

  let store: CoverageStore
  let transport: any CoverageTransport
  let options: Options
  let sender: CoverageSender
  let run: CoverageRunID
  let inbox = RunInbox()
  let work: RunWork
  private let clock: TimeSource
  private let feed = UpdateFeed<CoverageStatus>()
  private var machines: RunMachines
  /// What could not be stored yet, with its instants.
  private var unstored: [(actions: [FenceMachine.Action], at: Duration)] = []
  private var retryAt = Duration.zero
  /// Why the disk takes nothing; `nil` while it does.
  private var diskProblem: String?
  private var ending: CoverageEnding?

  /// The number of changes that wait for a disk that takes none; beyond it the oldest are given up.
  private static let unstoredLimit = 10_000

  /// Creates a run, which does nothing before ``measure()``.
  /// - Parameters:
  ///   - store: The store of the fences.
  ///   - server: The address of the control server, which the sessions keep.
  ///   - transport: The connection to that server.
  ///   - surroundings: The kind of network and the technology at the start.
  ///   - options: The settings.
  ///   - clock: The clock of the pings.
  public init(
    store: CoverageStore, server: String, transport: any CoverageTransport,
    surroundings: (network: CoverageNetwork, technology: CoverageTechnology), options: Options = Options(),
    clock: TimeSource = .continuous
  ) {
    self.store = store
    self.transport = transport
    self.options = options
    self.clock = clock
    sender = CoverageSender(
      store: store, server: server, transport: transport, destination: options.destination)
    let start = clock.now
    run = CoverageRunID(id: UUID().uuidString.lowercased(), server: server, startUs: store.nowUs)
    machines = RunMachines(surroundings.network, surroundings.technology)
    work = RunWork(inbox: inbox, transport: transport, clock: clock, start: start, interface: options.interface)
  }

  deinit { feed.end() }

  /// Passes what the surroundings tell to the run; it waits until the run takes it.
  public nonisolated func take(_ input: Input) { inbox.put(.input(input)) }

  /// Returns a stream of what the run shows, once a second.
  /// - Parameter limit: The number of updates that may wait for the reader, 1 or more; beyond that the oldest are dropped.
  public nonisolated func updates(limit: Int = 4) -> BoundedStream<CoverageStatus> { feed.updates(limit: limit) }

  private var now: Duration { clock.now - work.start }
  private var limit: Duration { min(options.limit, CoverageGrant.longest) }

  // MARK: The run

  /// Measures until the task is cancelled, or the run ends by itself. A run measures once.
  /// - Returns: How it has ended.
  /// - Throws: ``CoverageError`` with code `.busy` if another program measures with the same store, `.storage` or
  ///   `.noSpace` if it cannot be written at the start or at the end.
  public func measure() async throws -> CoverageEnding {
    guard let lock = try store.lockForRun() else {
      throw CoverageError(.busy, "another program measures with \(store.path)")
    }
    defer { lock.release() }
    try store.recover(except: run.id)
    try store.begin(run)
    if options.sendsFinished { work.resend(sender) }
    perform(machines.handle(.start, at: now), at: now)
    await loop()
    await work.end()
    return try finish()
  }

  private func loop() async {
    var iterator = inbox.wake.signals.makeAsyncIterator()
    while ending == nil, !Task.isCancelled {
      // What has arrived comes before the time that has passed: a reply may have waited for this program.
      for item in inbox.take() { take(item) }
      pass(to: now)
      guard ending == nil else { return }
      work.wake(at: nextInstant)
      await iterator.next(isolation: self)
    }
  }

  private var nextInstant: Duration {
    let waiting = unstored.isEmpty ? nil : retryAt
    return [machines.nextInstant, waiting, limit].compactMap { $0 }.min() ?? limit
  }

  private func pass(to now: Duration) {
    perform(machines.handle(.tick, at: now), at: now)
    if !unstored.isEmpty, now >= retryAt { storeWaiting(at: now) }
    if now >= limit { ending = ending ?? .timeLimit }
    if machines.isShownAnew(at: now) { publish(at: now) }
  }

  private func publish(at now: Duration) {
    var status = machines.status(at: now)
    // A server that cannot be reached loses nothing; a full disk may.
    if let diskProblem { status.problem = diskProblem }
    feed.publish(status)
  }

  private func finish() throws -> CoverageEnding {
    let now = now
    unstored.append((machines.stop(at: now), now))
    publish(at: now)
    feed.end()
    storeWaiting(at: now)
    while let (actions, instant) = unstored.first {
      try store.apply(actions, of: run, at: instant)
      unstored.removeFirst()
    }
    return ending ?? .stopped
  }

  // MARK: Events and actions

  private func take(_ item: RunInbox.Item) {
    let now = now
    switch item {
    case .input(let input): perform(machines.handle(.input(input), at: now), at: now)
    case .ping(let event): perform(machines.handle(.ping(event), at: now), at: now)
    case .connected(let generation, let socket):
      work.adopt(socket, generation)
      perform(machines.handle(.ping(.activated(generation: generation)), at: now), at: now)
    case .problem(let text): machines.problem = text
    }
  }

  private func perform(_ actions: [RunMachines.Action], at now: Duration) {
    var changes: [FenceMachine.Action] = []
    for action in actions {
      switch action {
      case .ping(let action): changes += perform(action, at: now)
      case .fence(.giveUp): ending = ending ?? .insufficientLocation
      case .fence(let action): changes.append(action)
      }
    }
    if !changes.isEmpty { keep(changes, at: now) }
  }

  /// - Returns: The changes of fences that a failed ping has led to at once.
  private func perform(_ action: PingMachine.Action, at now: Duration) -> [FenceMachine.Action] {
    switch action {
    case .prepare(let generation):
      work.prepare(generation, loop: machines.loop)
      if options.sendsFinished { work.resend(sender) }
    case .abandonPreparation: work.abandonPreparation()
    case .activate(let generation, let target): work.connect(to: target, generation)
    case .close(let generation): work.close(generation)
    case .send(_, let sequence, let token):
      let instant = work.send(PingPacket.request(sequence, token: token))
      let event: PingMachine.Event = instant.map { .sent(sequence, at: $0) } ?? .sendFailed(sequence)
      return machines.handle(.ping(event), at: now).compactMap {
        if case .fence(let change) = $0 { change } else { nil }
      }
    case .timeLimit: ending = ending ?? .timeLimit
    case .addressMismatch:
      machines.problem = "the ping server sees another address than the control server, and refuses the pings"
    case .report, .session: break
    }
    return []
  }

  // MARK: The store

  private func keep(_ changes: [FenceMachine.Action], at now: Duration) {
    unstored.append((changes, now))
    if unstored.count > Self.unstoredLimit { unstored.removeFirst() }
    // While the disk takes nothing, it is tried again once a second.
    if now >= retryAt { storeWaiting(at: now) }
  }

  private func storeWaiting(at now: Duration) {
    while let (changes, instant) = unstored.first {
      do {
        try store.apply(changes, of: run, at: instant)
      } catch  where error.code == .invalidReply {
        options.logger.warning("session not stored", metadata: ["reason": "\(error.safeText)"])
        machines.problem = error.message
      } catch {
        if diskProblem != error.message {
          options.logger.warning("fences not stored", metadata: ["reason": "\(error.safeText)"])
        }
        diskProblem = error.message
        retryAt = now + .seconds(1)
        return
      }
      unstored.removeFirst()
    }
    diskProblem = nil
  }
}
