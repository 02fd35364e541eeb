/// The state machine that decides which background task runs when.
///
/// It performs nothing and has no clock: instants are durations since an origin that its caller chooses.
///
/// Five rules hold in every state:
///
/// 1. One task runs at a time; of the eligible tasks, the one that is due first runs first.
/// 2. A task never runs twice at once: a run that exceeds its deadline becomes overdue and gives way to other tasks, and
///    its identifier waits until the run has finished.
/// 3. A run has exactly one outcome.
/// 4. A task starts only while the program is in the background and the request's conditions hold, and never while the
///    host is about to sleep.
/// 5. A submitted request is pending until its run starts, and again when the run is interrupted: by shutdown, by sleep,
///    or because a condition no longer holds.
///
/// ```swift
/// var machine = SchedulerMachine(registered: ["tidy": .processing])
/// _ = try machine.handle(.launch, at: .zero)
/// _ = try machine.handle(.submit(BackgroundTaskRequest("tidy", .processing)), at: .zero)
/// let actions = try machine.handle(.conditions(BackgroundConditions(isInBackground: true)), at: .zero)
/// print(actions.count)  // 1: begin
/// ```
public struct SchedulerMachine: Sendable, Hashable {
  /// A request that waits to run.
  public struct Pending: Sendable, Hashable {
    /// The request that waits to run.
    public var request: BackgroundTaskRequest
    /// The instant from which on the task may run.
    public var due: Duration
  }

  /// A run of a task in progress.
  public struct Run: Sendable, Hashable {
    /// The number of the run since the process started, from 1.
    public let number: Int
    /// The request that the run carries out.
    public let request: BackgroundTaskRequest
    /// The instant at which the time budget is used up.
    public let end: Duration
    /// A Boolean value that indicates whether a user started the run; conditions do not count then.
    public let isByHand: Bool
    /// The expiration of the run; `nil` before it expires.
    public internal(set) var expiration: Expiration?

    /// The reason for an expiration and the deadline that it sets.
    public struct Expiration: Sendable, Hashable {
      /// The reason for the expiration.
      public let reason: ExpirationReason
      /// The instant at which the run becomes overdue.
      public let limit: Duration
    }
  }

  /// The kinds of the registered tasks, by identifier.
  public let registered: [String: BackgroundTaskRequest.Kind]
  /// The longest durations of runs, by kind of task.
  public let budget: BackgroundTaskBudget
  /// The requests that wait, by identifier.
  public private(set) var pending: [String: Pending] = [:]
  /// The run in progress; `nil` if no task runs.
  public private(set) var current: Run?
  /// The numbers of the overdue runs that have not finished, by identifier.
  public private(set) var overdue: [String: Int] = [:]
  private(set) var conditions = BackgroundConditions()
  private(set) var stage = Stage.launching
  private var runs = 0

  enum Stage: Sendable, Hashable {
    case launching
    case launched
    case shutDown
  }

  /// Creates a machine without requests.
  public init(registered: [String: BackgroundTaskRequest.Kind], budget: BackgroundTaskBudget = BackgroundTaskBudget()) {
    self.registered = registered
    self.budget = budget
  }

  /// The next instant at which time alone changes something, for ``Event/timePassed``; `nil` if none.
  public var wake: Duration? {
    if let current { return current.expiration?.limit ?? (current.end - budget.grace) }
    return eligible.map(\.due).min()
  }

  /// The requests whose conditions hold.
  private var eligible: [Pending] {
    guard stage == .launched else { return [] }
    return pending.values.filter { conditions.obstacle(to: $0.request) == nil && overdue[$0.request.identifier] == nil }
  }

  /// The requests that must survive the process, by identifier; that of the run in progress is due at once.
  var remembered: [String: Pending] {
    guard let current, !current.isByHand else { return pending }
    // A newer request of the handler takes precedence.
    let interrupted = Pending(request: current.request, due: .zero)
    return pending.merging([current.request.identifier: interrupted]) { waiting, _ in waiting }
  }

  /// Returns the unmet condition that keeps a request from running; `nil` if there is none.
  func obstacle(to request: BackgroundTaskRequest) -> ExpirationReason? { conditions.obstacle(to: request) }

  /// Handles an event and changes the state.
  /// - Returns: The actions to perform, in order.
  /// - Throws: ``BackgroundTasksError`` if the event is refused; the state is then unchanged.
  public mutating func handle(_ event: Event, at now: Duration) throws(BackgroundTasksError) -> [Action] {
    var actions: [Action] = []
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
    case .runNow(let identifier): try runNow(identifier, now, &actions)
    case .expireNow(let identifier):
      guard let current, current.request.identifier == identifier else {
        throw BackgroundTasksError(.notRunning, "\(identifier) is not running")
      }
      expire(.person, now, &actions)
    case .shutDown:
      stage = .shutDown
      expire(.shutDown, now, &actions)
    case .ended(let number, let outcome): end(number, outcome, now, &actions)
    case .timePassed: break
    }
    settle(now, &actions)
    return actions
  }

  private mutating func submit(_ request: BackgroundTaskRequest, _ now: Duration) throws(BackgroundTasksError) {
    guard let kind = registered[request.identifier] else { throw .notRegistered(request.identifier, registered.keys) }
    guard kind == request.kind else {
      throw BackgroundTasksError(
        .invalidArgument, "the kind of \(request.identifier) is \(request.kind); allowed: \(kind)")
    }
    pending[request.identifier] = Pending(request: request, due: now + request.delay)
  }

  private mutating func runNow(
    _ identifier: String, _ now: Duration, _ actions: inout [Action]
  ) throws(BackgroundTasksError) {
    guard let kind = registered[identifier] else { throw .notRegistered(identifier, registered.keys) }
    guard stage == .launched else {
      throw BackgroundTasksError(.busy, "the scheduler is not running, or about to stop")
    }
    guard !conditions.isGoingToSleep else { throw BackgroundTasksError(.busy, "the host is about to sleep") }
    guard current == nil, overdue[identifier] == nil else {
      let running = current?.request.identifier ?? identifier
      throw BackgroundTasksError(.busy, "\(running) is running", hint: "expire it first, or wait")
    }
    begin(BackgroundTaskRequest(identifier, kind), byHand: true, now, &actions)
  }

  private mutating func begin(
    _ request: BackgroundTaskRequest, byHand: Bool = false, _ now: Duration, _ actions: inout [Action]
  ) {
    runs += 1
    let run = Run(number: runs, request: request, end: now + budget.time(for: request.kind), isByHand: byHand)
    current = run
    actions.append(.begin(run))
  }

  private mutating func expire(_ reason: ExpirationReason, _ now: Duration, _ actions: inout [Action]) {
    guard let run = current, run.expiration == nil else { return }
    current?.expiration = .init(reason: reason, limit: now + budget.grace)
    actions.append(.expire(run.number, reason))
  }

  private mutating func end(_ number: Int, _ outcome: Outcome, _ now: Duration, _ actions: inout [Action]) {
    if current?.number == number {
      finish(outcome, now, &actions)
    } else if let late = overdue.first(where: { $0.value == number }) {
      overdue[late.key] = nil
    }
  }

  private mutating func finish(_ outcome: Outcome, _ now: Duration, _ actions: inout [Action]) {
    guard let run = current else { return }
    current = nil
    actions.append(.record(run, outcome))
    guard outcome != .completed, !run.isByHand, run.expiration?.reason.isInterruption == true else { return }
    // Unless its handler has already submitted the next request.
    if pending[run.request.identifier] == nil {
      pending[run.request.identifier] = Pending(request: run.request, due: now)
    }
  }

  private mutating func settle(_ now: Duration, _ actions: inout [Action]) {
    if let run = current {
      if let reason = conditions.obstacle(to: run.request), !run.isByHand || reason == .sleep {
        expire(reason, now, &actions)
      } else if now >= run.end - budget.grace {
        expire(.budget, now, &actions)
      }
      if let limit = current?.expiration?.limit, now >= limit {
        overdue[run.request.identifier] = run.number
        finish(.overdue, now, &actions)
      }
    }
    guard current == nil else { return }
    let due = eligible.filter { $0.due <= now }
    guard let next = due.min(by: { ($0.due, $0.request.identifier) < ($1.due, $1.request.identifier) }) else { return }
    pending[next.request.identifier] = nil
    begin(next.request, now, &actions)
  }
}
