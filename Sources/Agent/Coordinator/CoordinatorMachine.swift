internal import SystemState
import Timing

/// The state machine of a coordinator's client: which requests are sent, and when.
///
/// It passes events on to one machine each for the enrolment, the heartbeats, the work and the results, and joins their
/// actions. It performs nothing itself and has no clock: its owner passes the time with each event, performs the
/// actions, and sends ``Event/tick`` at ``wakeAt``.
///
/// Five rules hold in every state:
///
/// 1. A registration is sent only when the coordinator does not know the machine, and never nine times within an hour.
/// 2. A heartbeat is sent every 15 s, whatever else is under way; only without responses less often.
/// 3. Work is asked for only after a heartbeat, and while there is none; each task leads to exactly one result, which
///    is kept until the coordinator has accepted or rejected it.
/// 4. While the disk is full, no request is sent that counts and would have to be remembered: no registration and no
///    request for work.
/// 5. A machine that is refused stops, reports the reason, and tries again after ``refusalDelay``.
struct CoordinatorMachine: Sendable {
  /// The phases of the service.
  enum Phase: Sendable, Hashable {
    /// The service has not started yet.
    case created
    /// The service works.
    case active
    /// The service is about to stop: what is under way ends, and results are still sent.
    case stopping
    /// The service has stopped, and nothing is sent.
    case stopped
  }

  /// The delay after a refusal: 10 min.
  static let refusalDelay: Duration = .seconds(600)
  /// The number of failures in a row that is reported, and ends the connection.
  static let failureLimit = 3
  /// The delays after requests that failed.
  static let backoff = Backoff(base: .milliseconds(1500), limit: .seconds(30), jitter: 0.5...1)

  private(set) var phase = Phase.created
  private(set) var enrolment: EnrolmentMachine
  private(set) var heartbeat: HeartbeatMachine
  private(set) var connection = CoordinatorConnection()
  private(set) var signing: SigningBudget
  private(set) var work: WorkMachine
  private(set) var outbox: OutboxMachine
  private(set) var storage: SessionStorage
  /// The power supply, set by the owner before each event; `nil` while it is unknown.
  var power: PowerTelemetry?
  /// The load of the machine, set by the owner before each event.
  var machine = MachineTelemetry()
  /// A Boolean value that indicates whether the traffic of the network is to be spared, set by the owner before each event.
  var isSparing = false
  /// The conduct after a gap in the heartbeats.
  let afterGap: AfterGap
  private(set) var allowance: GapAllowance
  /// The time of the newest event.
  private var now: Duration = .zero
  /// The number of the newest event that varies delays.
  private var random = 0.0

  /// Creates a state machine with the restored state.
  /// - Parameter firstResult: The number of the next result.
  init(
    _ session: CoordinatorSession, agentID: String, policy: AssignmentPolicy = .flowChart(FlowChart()),
    afterGap: AfterGap = .wait, results: [ResultOutbox.Entry] = [], firstResult: Int = 1
  ) {
    self.afterGap = afterGap
    allowance = GapAllowance(session)
    enrolment = EnrolmentMachine(session)
    heartbeat = HeartbeatMachine(session)
    signing = SigningBudget(unsignedUntil: session.unsignedUntil)
    work = WorkMachine(agentID: agentID, policy: policy)
    outbox = OutboxMachine(results, nextNumber: firstResult, conduct: session.conduct)
    storage = SessionStorage(saved: session)
  }

  /// The state that must survive a restart of the program.
  var session: CoordinatorSession {
    CoordinatorSession(
      enrolment: enrolment.enrolment, meshToken: enrolment.meshToken, registrations: enrolment.registrations,
      heartbeats: heartbeat.history, unsignedUntil: signing.unsignedUntil, quietUntil: heartbeat.quietUntil,
      unknownUntil: allowance.unknownUntil, strikes: allowance.strikes, conduct: outbox.conduct)
  }

  /// A Boolean value that indicates whether the service is to work.
  var isActive: Bool { phase == .active }

  /// Handles an event.
  /// - Parameters:
  ///   - now: The time, never less than before.
  ///   - random: A number from 0 to 1 that varies delays.
  /// - Returns: The actions to perform, in this order.
  mutating func handle(_ event: Event, at now: Duration, random: Double) -> [Action] {
    self.now = now
    self.random = random
    var actions = take(event)
    actions += settle()
    if storage.isDue(session, isActive: isActive, at: now) {
      storage.save(session, at: now)
      actions.insert(.save, at: 0)
    }
    return actions
  }

  private mutating func take(_ event: Event) -> [Action] {
    switch event {
    case .start: return start()
    case .stop:
      if phase == .active { phase = .stopping }
      return pass(.stop)
    case .leave:
      phase = .stopped
      return pass(.leave)
    case .tick: return []
    case .ended(let call, let outcome): return ended(call, outcome)
    case .askNow:
      connection.askNow(at: now)
      return pass(.askNow)
    case .model(let model): return pass(.model(model))
    case .worked(let id, let work): return pass(.worked(id, work))
    case .notKept(let number): return pass(.notStored(number))
    case .saved: storage.succeed()
    case .notSaved: storage.fail(at: now)
    }
    return []
  }

  private mutating func start() -> [Action] {
    // The signatures of an earlier process are unknown.
    if phase == .created, session != CoordinatorSession() { signing.restart(at: now) }
    phase = .active
    storage.start(at: now)
    connection.start(at: now)
    guard let refusal = connection.refusal, now < refusal.until else { return [] }
    return [.refused(refusal.reason)]
  }

  private mutating func ended(_ call: Call, _ outcome: Outcome) -> [Action] {
    signing.ended(call, isUnsure: outcome.isUnsure, at: now)
    let actions: [Action]
    switch call {
    case .register: actions = pass(EnrolmentMachine.Event.ended(outcome))
    case .heartbeat: actions = pass(HeartbeatMachine.Event.ended(outcome))
    case .pull: actions = pass(.pulled(outcome))
    case .result(let number):
      if outcome.hasNotArrived { allowance.takeBack() }
      actions = pass(.ended(number, outcome))
    }
    if let delay = outcome.retryAfter { wait(call, until: now + delay) }
    return actions
  }

  /// Sends no such request before an instant, as the coordinator demands.
  private mutating func wait(_ call: Call, until instant: Duration) {
    switch call {
    case .register, .heartbeat: connection.wait(until: instant)
    case .pull: work.wait(until: instant)
    case .result: outbox.wait(until: instant)
    }
  }

  /// Sends what is due, in this order: a heartbeat goes before everything else, a result before new work.
  private mutating func settle() -> [Action] {
    var actions: [Action] = []
    if let next = nextControl, next <= now { actions += sendControl() }
    if let next = nextPost, next <= now { actions += pass(OutboxMachine.Event.send) }
    if let next = nextPull, next <= now { actions += pass(.pull) }
    return actions
  }

  private mutating func sendControl() -> [Action] {
    guard enrolment.needsRegistration else { return pass(HeartbeatMachine.Event.send) + [send(.heartbeat, .needed)] }
    return pass(EnrolmentMachine.Event.send) + [send(.register, .needed)]
  }

  /// Makes the action that sends a request.
  private mutating func send(_ call: Call, _ importance: SigningBudget.Importance) -> Action {
    // The registration brings the key: before, a signature would count as a wrong one.
    let mayBeSigned =
      switch call {
      case .register, .heartbeat: enrolment.state == .registered
      case .pull, .result: true
      }
    // A rejected signature that cannot be written down is forgotten by a restart, and five in an hour are a ban.
    return .send(call, isSigned: mayBeSigned && storage.isStored && signing.take(call, importance, at: now))
  }
}

// MARK: - When something is due

extension CoordinatorMachine {
  /// The instant of the next action if no event comes before, or `nil` if there is none.
  var wakeAt: Duration? {
    [nextControl, nextPull, nextPost, storage.retryAt, isActive ? storage.renewalAt : nil].compactMap(\.self).min()
  }

  /// A Boolean value that indicates whether nothing is under way that is worth waiting for.
  var isSettled: Bool {
    !isControlPending && !work.hasJob && work.state != .pulling && outbox.sending == nil
      && (nextPost.map { $0 > now } ?? true)
  }

  /// A Boolean value that indicates whether a registration or a heartbeat is under way.
  private var isControlPending: Bool { enrolment.state == .registering || heartbeat.state != .idle }

  /// The instant of the next registration or heartbeat, or `nil` while one is under way.
  var nextControl: Duration? {
    guard isActive, !isControlPending else { return nil }
    var due = connection.dueAt
    if isSparing, connection.mayBeSpared, !work.hasJob, outbox.items.isEmpty {
      due += HeartbeatMachine.sparingInterval - HeartbeatMachine.interval
    }
    guard enrolment.needsRegistration else { return due }
    if !storage.isStored { return nil }
    return max(due, enrolment.registrationAllowed(at: due))
  }

  /// The instant of the next request for work, or `nil` while something else has to come first.
  var nextPull: Duration? {
    guard isActive, connection.isConnected, heartbeat.isFresh(at: now), let next = work.nextPull else { return nil }
    guard let last = heartbeat.history.last else { return next }
    // By then the connection of the heartbeat is free again, and no second one costs another handshake.
    if isSparing { return max(next, last + HeartbeatMachine.sparingPause) }
    guard work.isAsleep(at: now), next > last else { return next }
    return nextControl.map { max(next, $0) }
  }

  /// The instant at which the oldest result is sent, or `nil` while something else has to come first.
  var nextPost: Duration? {
    guard phase == .active || phase == .stopping, connection.isConnected, heartbeat.isFresh(at: now) else { return nil }
    return outbox.dueAt(quietUntil: quietUntil(pending: 1))
  }

  /// The instant until which nothing but heartbeats is sent, because there was a gap in them.
  /// - Parameter pending: The number of results that are to be sent, and would be strikes.
  private func quietUntil(pending: Int) -> Duration? {
    allowance.quietUntil(heartbeat.quietUntil, pending: pending, afterGap, at: now)
  }
}

// MARK: - Passing events on, and joining the actions

extension CoordinatorMachine {
  private mutating func pass(_ event: EnrolmentMachine.Event) -> [Action] {
    enrolment.handle(event, at: now).flatMap { action in
      switch action {
      case .registered:
        // A heartbeat comes before any work.
        connection.hurry(at: now)
        return [Action.log("the coordinator has registered this machine")]
      case .refused(let reason): return refused(reason)
      case .failed(let reason): return failed(reason)
      }
    }
  }

  private mutating func pass(_ event: HeartbeatMachine.Event) -> [Action] {
    heartbeat.handle(event, at: now).flatMap { action in
      switch action {
      case .accepted(let next):
        let wasConnected = connection.isConnected
        _ = enrolment.handle(.heartbeatAccepted, at: now)
        connection.accept(next: next)
        return wasConnected
          ? [] : [Action.connected, .log("the coordinator accepts this machine's heartbeats")]
      case .unauthorized(let reason): return unauthorized(reason)
      case .refused(let reason): return refused(reason)
      case .failed(let reason): return failed(reason)
      case .pushed(let push): return [Action.pushed(push)] + (push == .tasks ? pass(.askNow) : [])
      }
    }
  }

  private mutating func pass(_ event: WorkMachine.Event) -> [Action] {
    let conditions = WorkMachine.Conditions(
      power: power, machine: machine, isActive: isActive, isSessionStored: storage.isStored,
      quietUntil: quietUntil(pending: outbox.items.count + 1), isSparing: isSparing, outbox: outbox, random: random)
    return work.handle(event, at: now, in: conditions).flatMap { action in
      switch action {
      case .pull: return [send(.pull, .welcome)]
      case .work(let task): return [Action.work(task)]
      case .cancelWork: return [.cancelWork]
      case .finish(let result): return pass(.add(result))
      case .log(let text): return [.log(text)]
      case .tell(let text): return [.tell(text)]
      case .unauthorized(let reason): return unauthorized(reason)
      case .refused(let reason): return refused(reason)
      }
    }
  }

  private mutating func pass(_ event: OutboxMachine.Event) -> [Action] {
    outbox.handle(event, at: now, random: random).flatMap { action in
      switch action {
      case .store(let entry): return [Action.keep(entry)]
      case .send(let number):
        allowance.send(at: now, quietUntil: heartbeat.quietUntil)
        return [send(.result(number), .needed)]
      case .discard(let number): return [.discard(number)]
      case .log(let text): return [.log(text)]
      case .unauthorized(let reason): return unauthorized(reason)
      case .refused(let reason): return refused(reason)
      }
    }
  }

  private mutating func failed(_ reason: String) -> [Action] {
    let count = connection.fail(reason, at: now, random: random)
    return count == Self.failureLimit ? [.log("the coordinator cannot be reached: \(reason)")] : []
  }

  private mutating func refused(_ reason: String) -> [Action] {
    connection.refuse(reason, until: now + Self.refusalDelay)
    return [.log("the coordinator refuses this machine: \(reason)"), .refused(reason)]
  }

  /// Registers or stops signing: the coordinator does not know this machine, or does not accept its signature.
  private mutating func unauthorized(_ reason: String) -> [Action] {
    if reason.contains("signature_invalid") || reason.contains("agent_id_mismatch") {
      guard signing.reject(at: now) else { return failed(reason) }
      connection.hurry(at: now)
      return [.log("the coordinator rejected this machine's signature; requests are unsigned for an hour: \(reason)")]
    }
    if reason.contains("agent_not_registered") {
      // It still knew the machine when it accepted the last heartbeat, whose response took 15 s at most.
      let known = heartbeat.history.last.map { $0 - CoordinatorRunner.answerLimit }
      _ = enrolment.handle(.forgotten, at: now)
      _ = heartbeat.handle(.forgotten, at: now)
      _ = outbox.handle(.forgotten(before: known), at: now)
      signing.forgotten()
    } else {
      _ = enrolment.handle(.tokenRejected, at: now)
    }
    connection.reject(reason)
    connection.hurry(at: now)
    return [.log("the coordinator does not know this machine: \(reason)")]
  }
}
