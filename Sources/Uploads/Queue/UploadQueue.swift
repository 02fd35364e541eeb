internal import ErrorReporting
internal import Logging
internal import Streams
public import Timing

/// A service that uploads the items of a ``QueueStore`` until none is left, and retries without end what may succeed.
///
/// An item whose upload was begun by an earlier process is looked for on the server before anything is sent again. No
/// local file is removed before the server has proven that it has the same bytes.
///
/// ```swift
/// func upload(_ path: String, over transport: any S3Transport) async throws {
///   let store = try QueueStore(path: "/var/lib/example/uploads.sqlite")
///   let client = S3Client(try S3Endpoint("http://127.0.0.1:8333"), transport: transport)
///   let credentials = FileCredentials(path: "/etc/example/credentials")
///   let queue = UploadQueue(store, client: client, accounts: ["ada": credentials])
///   let content = try ObjectContent(readingFile: path, contentType: "audio/wav")
///   try await queue.add([UploadRequest(content, bucket: "recordings", key: "ada/talk.wav", account: "ada")])
///   try await queue.run()  // until the task is cancelled
/// }
/// ```
///
/// Follow the queue with ``updates(limit:)``, and look at it with ``status``.
public actor UploadQueue {
  /// The results of the queue's work that ``status`` reports.
  struct Report {
    var counters = Counters()
    /// The problem of the queue itself, such as a full disk.
    var problem: String?
    /// A Boolean value that indicates whether the last record did not fit on the disk.
    var isDiskFull = false
    /// The problem of a manifest that cannot be written.
    var manifestProblem: String?
    /// The accounts without a provider for which that was recorded.
    var strangers: Set<String> = []
    /// The accounts of the abandoned uploads that the server refuses to abort, by ID.
    var refusedAborts: [Int64: String] = [:]
    /// A Boolean value that indicates whether another process has the lock.
    var isUploadedElsewhere = false
  }

  /// The state of ``run()``.
  private struct Turn {
    enum Life {
      case ready
      case running
      /// The task was cancelled while the queue uploaded.
      case over
    }

    var life = Life.ready
    var pending: [QueueMachine.Action] = []
    /// The instant of the next timer.
    var alarm: Duration?
  }

  /// The items of the queue, on disk.
  public nonisolated let store: QueueStore
  /// The server that the queue uploads to; items of other servers wait.
  public nonisolated var endpoint: S3Endpoint { client.endpoint }
  let client: S3Client
  let options: Options
  let clock: TimeSource
  let disk: (any DiskPolicy)?

  var machine: QueueMachine
  var accounts: [String: AccountCredentials]
  let progress: UploadProgress
  var report = Report()
  /// The store's version that the machine knows.
  var version: Int64 = -1
  let manifestWake = WakeSignal()
  let abandonedWake = WakeSignal()
  private let wake = WakeSignal()
  private var turn = Turn()

  var logger: Logger { options.logger }

  /// Creates a queue; it uploads while ``run()`` runs.
  /// - Parameters:
  ///   - store: The items.
  ///   - client: The client of the server.
  ///   - accounts: The credentials provider of each account. Items of other accounts wait.
  ///   - options: The settings.
  ///   - clock: The clock for delays and timeouts.
  ///   - disk: The owner of the disk that the files are on; `nil` if files are only removed as
  ///     ``UploadRequest/afterwards`` says.
  public init(
    _ store: QueueStore, client: S3Client, accounts: [String: any CredentialsProvider], options: Options = Options(),
    clock: TimeSource = .continuous, disk: (any DiskPolicy)? = nil
  ) {
    self.store = store
    self.client = client
    self.options = options
    self.clock = clock
    self.disk = disk
    progress = UploadProgress(clock, requests: options.concurrency)
    machine = QueueMachine(limit: options.concurrency)
    self.accounts = accounts.mapValues { AccountCredentials($0) }
  }

  // MARK: Use

  /// Adds items to the queue; they are on disk when this returns.
  /// - Returns: The IDs of the items, in order. An item that is queued or uploaded already keeps its ID.
  /// - Throws: ``UploadsError``, as ``QueueStore/add(_:)``.
  @discardableResult public func add(_ requests: [UploadRequest]) throws(UploadsError) -> [Int64] {
    var requests = requests
    for index in requests.indices where requests[index].endpoint == nil {
      requests[index].endpoint = client.endpoint.url
    }
    let ids = try store.add(requests)
    for (id, request) in zip(ids, requests)
    where request.endpoint == client.endpoint.url && machine.failures(of: id) == nil {
      if let item = try store.item(id), item.state == .waiting {
        handle(.added(id, account: request.account, failures: 0))
      }
    }
    return ids
  }

  /// Ends the waits that began for lack of a network: the host has a default route again.
  public func networkReturned() {
    progress.forgetLine()
    handle(.networkReturned)
  }

  /// Starts no upload from now on, or starts them again; those in progress continue. For a network that is to be spared.
  public func hold(_ isHeld: Bool) { handle(.held(isHeld)) }

  /// Uploads until the task is cancelled. A new queue of the same store continues what is in progress then.
  ///
  /// A queue uploads once; it may be run again only after an error.
  /// - Throws: ``UploadsError`` with code `.alreadyRunning` if another process uploads the queue and
  ///   ``Options/waitsForLock`` is `false`, `.invalidState` if this queue uploads already or has uploaded, or `.storage`;
  ///   `CancellationError` if the task is cancelled before the queue has the lock.
  public func run() async throws {
    guard turn.life == .ready else {
      throw UploadsError(
        .invalidState, turn.life == .running ? "this queue uploads already" : "this queue has been run",
        hint: "create another queue of the same store")
    }
    turn.life = .running
    do {
      let lock = try await takeLock()
      progress.publish(through: lock)
      defer {
        progress.publish(through: nil)
        lock.release()
      }
      try await recover()
      await upload()
    } catch {
      turn.life = .ready
      throw error
    }
    turn.life = .over
  }

  private func upload() async {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.followStore() }
      group.addTask { await self.followLine() }
      group.addTask { await self.sweep() }
      group.addTask { await self.abortAbandoned() }
      group.addTask { await self.keepManifests() }
      var iterator = wake.signals.makeAsyncIterator()
      while !Task.isCancelled {
        // One instant for all: what is due after it has a timer, however long the rest takes.
        let now = clock.now
        take(.tick, at: now)
        for action in takeActions() { perform(action, &group) }
        fetchCredentials(&group, at: now)
        setAlarm(&group, after: now)
        await iterator.next(isolation: self)
      }
      group.cancelAll()
    }
  }

  // MARK: Events and actions

  func handle(_ event: QueueMachine.Event) {
    take(event, at: clock.now)
    wake.signal()
  }

  private func take(_ event: QueueMachine.Event, at now: Duration) {
    turn.pending += machine.handle(event, at: now, random: options.random())
  }

  private func takeActions() -> [QueueMachine.Action] {
    defer { turn.pending = [] }
    return turn.pending
  }

  private func perform(_ action: QueueMachine.Action, _ group: inout DiscardingTaskGroup) {
    switch action {
    case .start(let id, _): group.addTask { await self.supervise(id) }
    case .cancel(let id): progress.cancel(id)
    case .refresh(let account, let generation):
      // A fetch starts with the next tick.
      _ = accounts[account]?.handle(.refused(generation: generation), at: clock.now)
    case .postpone(let id, let failures, let delay, let failure):
      keep("record a failure of item \(id)") { () throws(UploadsError) in
        try store.postpone(id, attempts: failures, after: delay, failure)
      }
    case .giveUp(let id, let failure):
      keep("record the failure of item \(id)") { () throws(UploadsError) in try store.giveUp(id, failure.reason) }
    }
  }

  private func setAlarm(_ group: inout DiscardingTaskGroup, after now: Duration) {
    let instants = [machine.nextInstant].compactMap { $0 } + accounts.values.compactMap(\.due)
    guard let next = instants.filter({ $0 > now }).min(), next < turn.alarm ?? .seconds(Int64.max) else { return }
    turn.alarm = next
    group.addTask { [clock] in
      do { try await clock.sleep(until: next) } catch { return }
      await self.alarmRang(next)
    }
  }

  private func alarmRang(_ instant: Duration) {
    // An earlier one may have been set meanwhile.
    if turn.alarm == instant { turn.alarm = nil }
    wake.signal()
  }

  // MARK: Credentials

  private func fetchCredentials(_ group: inout DiscardingTaskGroup, at now: Duration) {
    for name in accounts.keys where accounts[name]?.handle(.tick, at: now).isEmpty == false {
      group.addTask { await self.fetch(name) }
    }
  }

  /// Has the credentials of an account fetched again if the server refused them beside the items, as for a manifest.
  func noteRefusal(_ error: any Error, of name: String) {
    guard [.credentials, .permission].contains(FailureKind(error)), let generation = accounts[name]?.generation else {
      return
    }
    _ = accounts[name]?.handle(.refused(generation: generation), at: clock.now)
    wake.signal()
  }

  private func fetch(_ name: String) async {
    guard let before = accounts[name] else { return }
    let result: Result<S3Credentials, UploadsError>
    do {
      result = .success(try await before.provider.credentials())
    } catch let error as UploadsError {
      result = .failure(error)
    } catch {
      result = .failure(UploadsError(.noCredentials, "\(before.provider.name): \(error.safeText)"))
    }
    let refused = machine.lacksCredentials(name) && before.generation > 0 ? before.generation : nil
    // Also for a missing permission: the credentials may be those of another account, and be corrected.
    let isAwaited = machine.awaitsNewerCredentials(name) || report.refusedAborts.values.contains(name)
    let outdated = refused ?? (isAwaited ? before.generation : nil)
    _ = accounts[name]?.handle(.fetched(result, refused: outdated, unixMs: store.now), at: clock.now)
    if case .failure(let error) = result {
      logger.warning("credentials not fetched", metadata: ["account": "\(name)", "reason": "\(error.code)"])
    }
    let generation = accounts[name]?.generation ?? 0
    recordCredentials(of: name, before: before, refused: refused)
    if generation > before.generation {
      abandonedWake.signal()
      handle(.credentials(name, generation: generation))
    } else {
      wake.signal()
    }
  }

  /// Records when an account loses its credentials, or has some again.
  private func recordCredentials(of name: String, before: AccountCredentials, refused: Int?) {
    guard let account = accounts[name] else { return }
    let lacked = before.problem != nil || before.generation == refused
    let reason = account.problem ?? (account.generation == refused ? "the server refuses them" : nil)
    keep("record an event", isWrite: lacked || reason != nil) { () throws(UploadsError) in
      if let reason { return try store.record(account: name, .credentialsMissing, reason) }
      // An earlier program may have had none.
      let wasMissing = try store.missingCredentials()[name] != nil
      if lacked || wasMissing { try store.record(account: name, .credentialsFound, nil) }
    }
  }
}
