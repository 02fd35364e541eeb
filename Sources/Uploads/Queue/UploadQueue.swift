internal import Glibc
public import Logging
internal import Streams
public import Timing

/// Uploads what is queued, the oldest first, until nothing is left, for ever.
///
/// What was begun when an earlier program ended is looked for on the server before anything is sent again. Nothing
/// local is removed before the server has shown that it has the same bytes.
public actor UploadQueue {
  /// How it works.
  public struct Options: Sendable {
    /// How many items are uploaded at once: 3. Where there are fewer, so many parts of them are.
    public var concurrency = 3
    /// In how many requests a file goes.
    public var plan = UploadPlan()
    /// How often it looks whether another program has changed the queue: 500 ms.
    public var poll = Duration.milliseconds(500)
    /// Whether it waits while another program uploads the queue, and goes on when that one ends, instead of throwing
    /// `.alreadyRunning`: `false`. Meanwhile it hears of what that one has delivered.
    public var waitsForTurn = false
    /// How often it looks whether its turn has come: 5 s.
    public var turnPoll = Duration.seconds(5)

    /// The usual ones.
    public init() {}
  }

  /// What has happened since the program began.
  public struct Counters: Sendable, Hashable {
    /// Items that were uploaded.
    public var uploaded = 0
    /// Their bytes.
    public var uploadedBytes: Int64 = 0
    /// Attempts, those that failed among them.
    public var attempts = 0
    /// Attempts that failed, by kind.
    public var failures: [FailureKind: Int] = [:]
    /// Bytes that were handed to connections.
    public var sentBytes: Int64 = 0

    /// The share of the attempts that have ended which have ended well, 0 to 1; `nil` before any has.
    public var successRatio: Double? {
      let ended = uploaded + failures.values.reduce(0, +)
      return ended == 0 ? nil : Double(uploaded) / Double(ended)
    }
  }

  /// What goes on now.
  public struct Status: Sendable, Hashable {
    /// The items under way, and how many bytes of each were sent.
    public var running: [Int64: Int64] = [:]
    /// What has happened.
    public var counters = Counters()
    /// Why accounts have no credentials that are taken, by account: those of this program, and others with items.
    public var credentialProblems: [String: String] = [:]
    /// What keeps the queue itself from working, such as a full disk.
    public var problem: String?
    /// Whether another program uploads it, and this one waits for its turn.
    public var isElsewhere = false
  }

  /// The items.
  public nonisolated let store: QueueStore
  let client: S3Client
  let options: Options
  let clock: TimeSource
  let random: @Sendable () -> Double
  let logger: Logger
  let disk: (any DiskPolicy)?

  var machine: QueueMachine
  var keepers: [String: CredentialsKeeper]
  var problems: [Int64: String] = [:]
  /// What an earlier program had begun.
  var mayBeThere: Set<Int64> = []
  private var tasks: [Int64: Task<Void, Never>] = [:]
  private var pending: [QueueMachine.Action] = []
  private let bell = BoundedStream<Void>.make(limit: 1, policy: .dropNewest)
  /// Rings when a manifest lacks something.
  let manifestBell = BoundedStream<Void>.make(limit: 1, policy: .dropNewest)
  var manifestProblem: String?
  /// When the next look at the machine is due.
  private var alarm: Duration?
  var version: Int64 = -1
  var counters = Counters()
  var problem: String?
  var isElsewhere = false
  private let progress: UploadProgress

  /// Makes a queue; it uploads while ``run()`` runs.
  /// - Parameters:
  ///   - store: the items.
  ///   - client: the server.
  ///   - accounts: where the credentials of each account come from.
  ///   - options: how it works.
  ///   - clock: what waits are measured with.
  ///   - random: 0 to 1.
  ///   - logger: gets what goes wrong, without names of files.
  ///   - disk: who answers for the disk; without one nothing goes but what ``UploadRequest/afterwards`` says.
  public init(
    _ store: QueueStore, client: S3Client, accounts: [String: any CredentialsProvider], options: Options = Options(),
    clock: TimeSource = .continuous, random: @escaping @Sendable () -> Double = { .random(in: 0...1) },
    logger: Logger = Logger(label: "edgeblue.uploads"), disk: (any DiskPolicy)? = nil
  ) {
    (self.store, self.client, self.options, self.clock) = (store, client, options, clock)
    (self.random, self.logger, self.disk) = (random, logger, disk)
    progress = UploadProgress(clock)
    machine = QueueMachine(limit: options.concurrency)
    keepers = accounts.mapValues { CredentialsKeeper($0) }
  }

  // MARK: From outside

  /// Queues uploads; when this returns they are on disk. See ``QueueStore/add(_:)``.
  @discardableResult public func add(_ requests: [UploadRequest]) throws(UploadsError) -> [Int64] {
    let ids = try store.add(requests)
    for (id, request) in zip(ids, requests) where machine.attempts(of: id) == nil {
      if let item = try store.item(id), item.state == .waiting {
        handle(.added(id, account: request.account, attempts: 0))
      }
    }
    return ids
  }

  /// Says that there is a way out to the network again: what waits because of it is tried at once.
  public func networkReturned() { handle(.networkReturned) }

  /// What goes on now.
  public var status: Status {
    var status = Status(counters: counters, problem: problem ?? manifestProblem, isElsewhere: isElsewhere)
    let progress = progress.now
    status.counters.sentBytes = progress.sentBytes
    for id in machine.running { status.running[id] = progress.running[id] ?? 0 }
    for name in Set(keepers.keys).union(machine.readyAccounts) where machine.lacksCredentials(name) {
      guard let keeper = keepers[name] else {
        status.credentialProblems[name] = "this program was given none"
        continue
      }
      status.credentialProblems[name] =
        keeper.problem ?? (keeper.generation == 0 ? "they are being fetched" : "the server does not take them")
    }
    return status
  }

  /// Uploads until the task is cancelled. What is under way then is taken up by the next run.
  /// - Throws: ``UploadsError``: `.alreadyRunning`, `.storage`; `CancellationError` when its turn has not come.
  public func run() async throws {
    let lock = try await turn()
    progress.tell(through: lock)
    defer {
      progress.tell(through: nil)
      lock.release()
    }
    try await recover()
    await withDiscardingTaskGroup { group in
      group.addTask { await self.followStore() }
      group.addTask { await self.sweep() }
      group.addTask { await self.keepManifests() }
      var iterator = bell.stream.makeAsyncIterator()
      while !Task.isCancelled {
        // One instant for all: what is due after it has an alarm, however long the rest takes.
        let now = clock.now
        take(.tick, at: now)
        for action in takeActions() { perform(action, &group) }
        setAlarm(&group, after: now)
        await iterator.next(isolation: self)
      }
      group.cancelAll()
    }
  }

  // MARK: Events and actions

  func handle(_ event: QueueMachine.Event) {
    take(event, at: clock.now)
    bell.source.yield(())
  }

  private func take(_ event: QueueMachine.Event, at now: Duration) {
    pending += machine.handle(event, at: now, random: random())
  }

  private func takeActions() -> [QueueMachine.Action] {
    defer { pending = [] }
    return pending
  }

  private func perform(_ action: QueueMachine.Action, _ group: inout DiscardingTaskGroup) {
    switch action {
    case .start(let id, let generation): group.addTask { await self.supervise(id, generation) }
    case .cancel(let id): tasks[id]?.cancel()
    case .refresh(let account, let generation): keepers[account]?.expire(generation, at: clock.now)
    case .postpone(let id, let attempts, let delay):
      keep("postponing item \(id)") { () throws(UploadsError) in
        try store.postpone(
          id, attempts: attempts, afterMs: delay.map { $0.milliseconds }, kinds[id] ?? .temporary,
          problems[id] ?? "")
      }
    case .bury(let id):
      keep("giving up item \(id)") { () throws(UploadsError) in try store.bury(id, problems[id] ?? "") }
    }
  }

  private func setAlarm(_ group: inout DiscardingTaskGroup, after now: Duration) {
    for name in keepers.keys where keepers[name]?.takeDue(at: now) == true {
      group.addTask { await self.fetch(name) }
    }
    let instants = [machine.nextInstant].compactMap { $0 } + keepers.values.compactMap(\.due)
    guard let next = instants.filter({ $0 > now }).min(), next < alarm ?? .seconds(Int64.max) else { return }
    alarm = next
    group.addTask { [clock] in
      do { try await clock.sleep(until: next) } catch { return }
      await self.awake(next)
    }
  }

  private func awake(_ instant: Duration) {
    // Another may have been set meanwhile, for earlier.
    if alarm == instant { alarm = nil }
    bell.source.yield(())
  }

  private func fetch(_ name: String) async {
    guard let keeper = keepers[name] else { return }
    let result: Result<S3Credentials, UploadsError>
    do {
      result = .success(try await keeper.provider.credentials())
    } catch let error as UploadsError {
      result = .failure(error)
    } catch {
      result = .failure(UploadsError(.noCredentials, "\(keeper.provider.name): \(error)"))
    }
    let refused = machine.lacksCredentials(name) ? keeper.generation : -1
    keepers[name]?.take(result, refused: refused, at: clock.now, unixMs: store.now)
    if case .failure(let error) = result { logger.warning("no credentials for account \(name): \(error.code)") }
    let generation = keepers[name]?.generation ?? 0
    noteCredentials(of: name, before: keeper, refused: refused)
    if generation > keeper.generation {
      handle(.credentials(name, generation: generation))
    } else {
      bell.source.yield(())
    }
  }

  /// Notes when an account loses its credentials, or has some again.
  private func noteCredentials(of name: String, before: CredentialsKeeper, refused: Int) {
    guard let keeper = keepers[name] else { return }
    let lacked = before.problem != nil || before.generation == refused && refused > 0
    keep("noting an event") { () throws(UploadsError) in
      if let problem = keeper.problem {
        try store.note(account: name, .credentialsMissing, problem)
      } else if keeper.generation == refused, refused > 0 {
        try store.note(account: name, .credentialsMissing, "the server does not take them")
      } else if lacked {
        try store.note(account: name, .credentialsFound, nil)
      }
    }
  }

  // MARK: One item

  var kinds: [Int64: FailureKind] = [:]

  private func supervise(_ id: Int64, _ generation: Int) async {
    let task = Task { await self.work(id, generation) }
    tasks[id] = task
    await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    tasks[id] = nil
    progress.end(id)
  }

  private func work(_ id: Int64, _ generation: Int) async {
    do {
      guard let item = try await begin(id) else { return handle(.removed(id)) }
      let name = item.request.account
      guard let credentials = keepers[name]?.current else {
        throw UploadsError(.noCredentials, "there are no credentials for the account \(name)")
      }
      try credentials.scope?.check(bucket: item.request.bucket, key: item.request.key)
      counters.attempts += 1
      progress.begin(id, having: item.parts.reduce(0) { $0 + $1.size })
      let uploader = ItemUploader(
        client: client, store: store, plan: options.plan, item: item, credentials: credentials,
        // What other items leave unused.
        partsAtOnce: { [progress, options] in options.concurrency / max(progress.now.running.count, 1) },
        onProgress: { [progress] done in progress.note(id, done) })
      try await uploader.run(mayBeThere: mayBeThere.contains(id))
      let isDone = try await deliver(item)
      if isDone { counters.uploaded += 1 }
      counters.uploadedBytes += item.request.content.size
      mayBeThere.remove(id)
      (problems[id], kinds[id]) = (nil, nil)
      handle(.succeeded(id))
    } catch is CancellationError {
      // Held or dropped by a person, or the program ends: the next attempt looks what the server has.
      mayBeThere.insert(id)
    } catch {
      let kind = FailureKind(error)
      counters.failures[kind, default: 0] += 1
      problems[id] = "\((error as? UploadsError)?.description ?? "\(error)")"
      kinds[id] = kind
      mayBeThere.insert(id)
      logger.info("item \(id) failed: \(kind.rawValue)")
      handle(.failed(id, kind))
    }
  }

  /// Does something with the store, which may fail without anything being lost: the next run finds the item as it was.
  func keep(_ phase: String, _ body: () throws(UploadsError) -> Void) {
    do {
      try body()
      problem = nil
    } catch {
      problem = error.description
      logger.error("\(phase): \(error)")
    }
  }
}
