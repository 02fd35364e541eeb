internal import SystemState

/// Decides what is sent to a coordinator, and when. Does nothing itself and has no clock: whoever runs it says with
/// each event what time it is, performs the effects, and comes back with ``Event/tick`` at ``wakeAt``.
///
/// Five rules hold in every state:
///
/// 1. A registration is sent only when the coordinator does not know the machine, and never nine times within an hour.
/// 2. A heartbeat is sent every 15 s, whatever else goes on; only without an answer, less often.
/// 3. Work is asked for only after a heartbeat, and while there is none; each task leads to exactly one result, which
///    is kept until the coordinator has it or will not have it.
/// 4. Without room on the disk for what must not be forgotten, nothing is sent that would count: no registration, no
///    question for work.
/// 5. Whoever is refused stops, says why, and asks again after ``refusalPause``.
struct CoordinatorMachine: Sendable {
  /// From one heartbeat to the next: 15 s.
  static let heartbeatInterval: Duration = .seconds(15)
  /// From a refusal to the next question: 10 min.
  static let refusalPause: Duration = .seconds(600)
  /// How often a heartbeat may reach nobody until that is told.
  static let failuresToTell = 3
  /// When something is tried again that the coordinator could not do.
  static let delays: RetryDelays = {
    var delays = RetryDelays()
    (delays.base, delays.limit) = (.milliseconds(1500), .seconds(30))
    return delays
  }()

  var session: CoordinatorSession
  /// What is on disk of it, or soon is.
  private var saved: CoordinatorSession
  /// Whether the disk did not take it, and when that is tried again.
  var unsavedUntil: Duration?
  var isActive = false
  /// Whether it goes on where another life of the program has stopped.
  private var isRestarted: Bool
  /// Whether nothing is sent at all: before it is to work, and when it can wait no longer for results to arrive.
  var isSilent = true
  /// Whether the coordinator has taken a heartbeat since it was last lost.
  var isConnected = false
  /// The registration or the heartbeat that is under way.
  var control: Call?
  var controlSentAt: Duration = .zero
  var controlAt: Duration = .zero
  var failures = 0
  /// Why the last call did not do; `nil` when it did.
  var problem: String?
  var refusal: Refusal?
  var budget = SigningBudget()
  /// The signed call that is under way: one at a time, so that a signature that is not taken is one violation.
  var signed: Call?

  /// The newest time there was.
  var now: Duration = .zero
  let agentID: String
  let policy: AssignmentPolicy
  /// What the machine runs on; whoever runs this sets it.
  var power: PowerTelemetry?
  var machine = MachineTelemetry()
  var model: CoordinatorModel?
  var isPulling = false
  var pullAt: Duration = .zero
  var pullFailures = 0
  var lastTask: Duration?
  var job: Job?
  var counters = WorkCounters()

  /// What the coordinator does not have yet, the oldest first.
  var results: [ResultOutbox.Entry]
  /// Of these, what is not on disk.
  var unkept: Set<Int> = []
  var nextResult: Int
  /// The one that is under way, as it is sent.
  var posting: ResultOutbox.Entry?
  var postAt: Duration = .zero
  var postFailures = 0

  /// Begins with what was restored.
  /// - Parameter firstResult: the number of the next result.
  init(
    _ session: CoordinatorSession, agentID: String, policy: AssignmentPolicy = .flowChart(FlowChart()),
    results: [ResultOutbox.Entry] = [], firstResult: Int = 1
  ) {
    (self.session, saved, self.agentID, self.policy) = (session, session, agentID, policy)
    (self.results, nextResult) = (results, firstResult)
    isRestarted = session != CoordinatorSession()
  }

  /// Takes in an event.
  /// - Parameters:
  ///   - now: the time, never less than before.
  ///   - random: 0 to 1, by which delays vary.
  /// - Returns: what is to be done, in this order.
  mutating func handle(_ event: Event, at now: Duration, random: Double) -> [Effect] {
    self.now = now
    var effects: [Effect] = []
    switch event {
    case .start:
      (isActive, isSilent, isConnected) = (true, false, false)
      controlAt = min(controlAt, now)
      if isRestarted { budget.restart(at: now) }
      isRestarted = false
      if let refusal, now < refusal.until { effects.append(.refused(refusal.reason)) }
    case .stop:
      isActive = false
      if let job, job.work == nil { effects.append(.cancelWork) }
    case .leave:
      worked(.failed("this machine has stopped working"), at: now, random)
      job?.dueAt = now
      isSilent = true
    case .tick: break
    case .ended(let call, let outcome): end(call, outcome, at: now, random, &effects)
    case .model(let model):
      // Whoever waits for it need not wait any longer.
      if model.isReady, self.model?.isReady != true { pullAt = min(pullAt, now) }
      self.model = model
    case .worked(let id, let work):
      // One that was not waited for may come late, while another is worked on.
      if job?.task.id == id { worked(work, at: now, random) }
    case .notKept(let number): unkept.insert(number)
    case .saved: unsavedUntil = nil
    case .notSaved: unsavedUntil = now + Self.holdPause
    }
    settle(at: now, &effects)
    if isSaveDue {
      saved = session
      effects.insert(.save, at: 0)
    }
    return effects
  }

  /// A heartbeat is written down once a minute: who forgets one only believes that more time has passed since.
  private var isSaveDue: Bool {
    if let unsavedUntil { return unsavedUntil <= now }
    guard isActive else { return saved != session }
    var known = saved
    (known.lastHeartbeat, known.unsureHeartbeat) = (session.lastHeartbeat, session.unsureHeartbeat)
    func isOld(_ path: KeyPath<CoordinatorSession, Duration?>) -> Bool {
      guard let instant = session[keyPath: path] else { return false }
      return saved[keyPath: path].map { instant - $0 >= .seconds(60) } ?? true
    }
    return known != session || isOld(\.lastHeartbeat) || isOld(\.unsureHeartbeat)
  }

  /// When something is to be done next, if nothing happens until then.
  var wakeAt: Duration? { [nextControl, nextPull, nextPost, job?.dueAt, unsavedUntil].compactMap(\.self).min() }

  /// In this order: a heartbeat goes before everything else, a result before new work.
  private mutating func settle(at now: Duration, _ effects: inout [Effect]) {
    if let next = nextControl, next <= now { sendControl(at: now, &effects) }
    if let due = job?.dueAt, due <= now { finishJob(at: now, &effects) }
    if let next = nextPost, next <= now { post(at: now, &effects) }
    if let next = nextPull, next <= now { pull(at: now, &effects) }
  }

  private mutating func end(
    _ call: Call, _ outcome: Outcome, at now: Duration, _ random: Double, _ effects: inout [Effect]
  ) {
    if signed == call {
      signed = nil
      if outcome.isUnsure { rest(fromSigningUntil: now + Self.unsureRest) }
    }
    switch call {
    case .register, .heartbeat: endControl(call, outcome, at: now, random, &effects)
    case .pull: endPull(outcome, at: now, random, &effects)
    case .result(let number): endPost(number, outcome, at: now, random, &effects)
    }
  }
}
