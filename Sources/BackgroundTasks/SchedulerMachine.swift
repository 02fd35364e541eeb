/// Decides which background task runs when. Does nothing itself and has no clock: instants are durations since an origin
/// that only its caller knows.
///
/// Five rules hold in every state:
///
/// 1. One task has the turn at a time; of those that may run, the one that is due longest goes first.
/// 2. A task never runs twice at once: one that does not end when its time is over loses the turn, and its identifier
///    waits until it has ended.
/// 3. A run ends exactly once.
/// 4. Nothing begins unless the program is in the background and what its request requires is there, and nothing at all
///    while the machine is about to sleep.
/// 5. What was submitted is pending until it begins, and again when its run was interrupted: by the end of the program,
///    by sleep, or because what it requires has gone.
public struct SchedulerMachine: Sendable, Hashable {
  /// A request that waits.
  public struct Pending: Sendable, Hashable {
    /// What is to run.
    public var request: BackgroundTaskRequest
    /// From when on.
    public var due: Duration
  }

  /// A task that has begun.
  public struct Run: Sendable, Hashable {
    /// Counts the runs since the program began, from 1.
    public let number: Int
    /// What runs.
    public let request: BackgroundTaskRequest
    /// When its time is over.
    public let end: Duration
    /// Whether a person began it; what its request requires does not count then.
    public let isByHand: Bool
    /// When and why it was told to come to its end.
    public internal(set) var expiration: Expiration?

    /// That a task was told to come to its end.
    public struct Expiration: Sendable, Hashable {
      /// Why.
      public let reason: ExpirationReason
      /// When it loses its turn.
      public let limit: Duration
    }
  }

  /// The identifiers a handler is registered for.
  public let registered: [String: BackgroundTaskRequest.Kind]
  /// How long tasks may take.
  public let budget: BackgroundTaskBudget
  /// What waits, by identifier.
  public private(set) var pending: [String: Pending] = [:]
  /// What has the turn.
  public private(set) var current: Run?
  /// What lost the turn and has not ended: numbers of runs, by identifier.
  public private(set) var overdue: [String: Int] = [:]
  private(set) var conditions = BackgroundConditions()
  private(set) var stage = Stage.launching
  private var runs = 0

  enum Stage: Sendable, Hashable {
    case launching
    case launched
    case shutDown
  }

  /// Begins with nothing to do.
  public init(registered: [String: BackgroundTaskRequest.Kind], budget: BackgroundTaskBudget = BackgroundTaskBudget()) {
    self.registered = registered
    self.budget = budget
  }

  /// When to come back with ``Event/timePassed`` though nothing else has happened.
  public var wake: Duration? {
    if let current { return current.expiration?.limit ?? (current.end - budget.grace) }
    return eligible.map(\.due).min()
  }

  /// What may run as things are, once it is due.
  private var eligible: [Pending] {
    guard stage == .launched else { return [] }
    return pending.values.filter { conditions.obstacle(to: $0.request) == nil && overdue[$0.request.identifier] == nil }
  }

  /// What has to outlive the program, by identifier: what waits, and what has begun and not ended, due at once.
  var remembered: [String: Pending] {
    guard let current, !current.isByHand else { return pending }
    // What the handler has asked for meanwhile counts more.
    let interrupted = Pending(request: current.request, due: .zero)
    return pending.merging([current.request.identifier: interrupted]) { waiting, _ in waiting }
  }

  /// What keeps a request from running as things are, but for its time and its turn.
  func obstacle(to request: BackgroundTaskRequest) -> ExpirationReason? { conditions.obstacle(to: request) }

  /// Takes in an event.
  /// - Returns: what is to be done, in this order.
  /// - Throws: ``BackgroundTasksError`` when what is asked for cannot be; nothing has changed then.
  public mutating func handle(_ event: Event, at now: Duration) throws(BackgroundTasksError) -> [Effect] {
    var effects: [Effect] = []
    switch event {
    case .submit(let request): try submit(request, now)
    case .restore(let requests):
      for old in requests where registered[old.request.identifier] == old.request.kind {
        pending[old.request.identifier] = Pending(request: old.request, due: now + old.wait)
      }
    case .launch: stage = .launched
    case .cancel(let identifier): pending[identifier] = nil
    case .cancelAll: pending = [:]
    case .conditions(let new): conditions = new
    case .runNow(let identifier): try runNow(identifier, now, &effects)
    case .expireNow(let identifier):
      guard let current, current.request.identifier == identifier else {
        throw BackgroundTasksError(.notRunning, "\(identifier) does not run")
      }
      expire(.person, now, &effects)
    case .shutDown:
      stage = .shutDown
      expire(.shutDown, now, &effects)
    case .ended(let number, let outcome): end(number, outcome, now, &effects)
    case .timePassed: break
    }
    settle(now, &effects)
    return effects
  }

  private mutating func submit(_ request: BackgroundTaskRequest, _ now: Duration) throws(BackgroundTasksError) {
    guard let kind = registered[request.identifier] else { throw .notRegistered(request.identifier, registered.keys) }
    guard kind == request.kind else {
      throw BackgroundTasksError(
        .invalidArgument, "\(request.identifier) is registered for \(kind), not for \(request.kind)")
    }
    pending[request.identifier] = Pending(request: request, due: now + request.delay)
  }

  private mutating func runNow(
    _ identifier: String, _ now: Duration, _ effects: inout [Effect]
  ) throws(BackgroundTasksError) {
    guard let kind = registered[identifier] else { throw .notRegistered(identifier, registered.keys) }
    guard stage == .launched else { throw BackgroundTasksError(.busy, "the program is not ready, or about to end") }
    guard !conditions.isGoingToSleep else { throw BackgroundTasksError(.busy, "the machine is about to sleep") }
    guard current == nil, overdue[identifier] == nil else {
      let running = current?.request.identifier ?? identifier
      throw BackgroundTasksError(.busy, "\(running) runs", hint: "expire it first, or wait")
    }
    begin(BackgroundTaskRequest(identifier, kind), byHand: true, now, &effects)
  }

  private mutating func begin(
    _ request: BackgroundTaskRequest, byHand: Bool = false, _ now: Duration, _ effects: inout [Effect]
  ) {
    runs += 1
    let run = Run(number: runs, request: request, end: now + budget.time(for: request.kind), isByHand: byHand)
    current = run
    effects.append(.begin(run))
  }

  private mutating func expire(_ reason: ExpirationReason, _ now: Duration, _ effects: inout [Effect]) {
    guard let run = current, run.expiration == nil else { return }
    current?.expiration = .init(reason: reason, limit: now + budget.grace)
    effects.append(.expire(run.number, reason))
  }

  private mutating func end(_ number: Int, _ outcome: Outcome, _ now: Duration, _ effects: inout [Effect]) {
    if current?.number == number {
      finish(outcome, now, &effects)
    } else if let late = overdue.first(where: { $0.value == number }) {
      overdue[late.key] = nil
    }
  }

  private mutating func finish(_ outcome: Outcome, _ now: Duration, _ effects: inout [Effect]) {
    guard let run = current else { return }
    current = nil
    effects.append(.record(run, outcome))
    guard outcome != .completed, !run.isByHand, run.expiration?.reason.isInterruption == true else { return }
    // Unless its handler has already asked for the next run.
    if pending[run.request.identifier] == nil {
      pending[run.request.identifier] = Pending(request: run.request, due: now)
    }
  }

  private mutating func settle(_ now: Duration, _ effects: inout [Effect]) {
    if let run = current {
      if let reason = conditions.obstacle(to: run.request), !run.isByHand || reason == .sleep {
        expire(reason, now, &effects)
      } else if now >= run.end - budget.grace {
        expire(.budget, now, &effects)
      }
      if let limit = current?.expiration?.limit, now >= limit {
        overdue[run.request.identifier] = run.number
        finish(.overdue, now, &effects)
      }
    }
    guard current == nil else { return }
    let due = eligible.filter { $0.due <= now }
    guard let next = due.min(by: { ($0.due, $0.request.identifier) < ($1.due, $1.request.identifier) }) else { return }
    pending[next.request.identifier] = nil
    begin(next.request, now, &effects)
  }
}
