/// The state machine of the heartbeats: one at a time, and counted for the coordinator's check for gaps.
struct HeartbeatMachine: Sendable, Hashable {
  /// The states of the heartbeat.
  enum State: Sendable, Hashable {
    /// No heartbeat is under way.
    case idle
    /// A heartbeat is under way, sent at this instant.
    case sent(at: Duration)
  }

  /// The events that the state machine accepts.
  enum Event: Sendable {
    /// A heartbeat is about to be sent.
    case send
    /// The heartbeat has ended.
    case ended(CoordinatorMachine.Outcome)
    /// The coordinator has forgotten this machine, and so everything that it counted.
    case forgotten
  }

  /// The actions that the state machine's owner performs.
  enum Action: Sendable, Hashable {
    /// Work, and send the next heartbeat at this instant: the coordinator accepted this one.
    case accepted(next: Duration)
    /// Register: the coordinator does not know this machine, for this reason.
    case unauthorized(String)
    /// Send nothing for a while: the coordinator refuses this machine, for this reason.
    case refused(String)
    /// Try again later: the heartbeat failed, for this reason.
    case failed(String)
    /// Do this now: the coordinator requests it.
    case pushed(CoordinatorPush)
  }

  /// The interval between heartbeats: 15 s.
  static let interval: Duration = .seconds(15)
  /// The interval on a network whose traffic is to be spared, while there is neither a task nor a result: 4 min.
  ///
  /// With a new TLS connection for each heartbeat that is less than 5 MB a day, and one that fails can be repeated before
  /// the coordinator counts a gap.
  static let sparingInterval: Duration = .seconds(240)
  /// The delay of a request for work after a heartbeat on such a network: 1 s.
  static let sparingPause: Duration = .seconds(1)
  /// The greatest age of the last heartbeat at which anything else is sent: 45 s. After a suspend the next heartbeat
  /// goes first.
  static let longestAge: Duration = .seconds(45)

  /// The heartbeat under way.
  private(set) var state = State.idle
  /// The heartbeats that count for the coordinator's check for gaps.
  private(set) var history: HeartbeatHistory
  /// The instant until which only heartbeats are sent, because there was a gap.
  private(set) var quietUntil: Duration?
  /// The number of heartbeats that failed since the start.
  private(set) var failed = 0

  /// Creates the state machine with the restored state.
  init(_ session: CoordinatorSession) {
    history = session.heartbeats
    quietUntil = session.quietUntil
  }

  /// Returns `true` if no long interruption, such as a sleep of the machine, has kept heartbeats from the coordinator;
  /// the next heartbeat finds out the consequences.
  func isFresh(at now: Duration) -> Bool { history.last.map { now - $0 <= Self.longestAge } ?? false }

  /// Handles an event.
  /// - Returns: The actions to perform, in this order.
  mutating func handle(_ event: Event, at now: Duration) -> [Action] {
    switch event {
    case .send:
      state = .sent(at: now)
      history.send(at: now)
    case .ended(let outcome):
      guard case .sent(let sentAt) = state else { break }
      state = .idle
      history.ended()
      if outcome.isUnsure { history.isUnsure(of: sentAt) }
      let actions = ended(outcome, sentAt: sentAt, now)
      if case .accepted = actions.first {} else { failed += 1 }
      return actions
    case .forgotten:
      history = .none
      quietUntil = nil
    }
    return []
  }

  private mutating func ended(_ outcome: CoordinatorMachine.Outcome, sentAt: Duration, _ now: Duration) -> [Action] {
    switch outcome {
    case .none(let error): return [.failed("\(error)")]
    case .answer(let answer):
      switch CoordinatorVerdict(answer) {
      case .done(let body):
        do throws(AgentError) {
          let reply = try body.decoded(as: HeartbeatReply.self, from: CoordinatorMachine.Call.heartbeat.path)
          return answered(reply, sentAt: sentAt, now)
        } catch {
          return [.failed(error.message)]
        }
      case .unauthorized(let reason): return [.unauthorized(reason)]
      case .forbidden(let reason):
        history.isUnsure(of: sentAt)
        return [.refused(reason)]
      case .busy(let reason), .failed(let reason), .refused(let reason): return [.failed(reason)]
      }
    }
  }

  private mutating func answered(_ reply: HeartbeatReply, sentAt: Duration, _ now: Duration) -> [Action] {
    guard reply.ok else {
      // The coordinator may count it all the same.
      history.isUnsure(of: sentAt)
      let reason = reply.reason.map { ": \($0.prefix(CoordinatorVerdict.reasonLimit))" } ?? ""
      return [.refused((reply.blacklisted ? "the coordinator has banned this machine" : "no") + reason)]
    }
    // An earlier quiet time, set because the past was unknown, does not end sooner because one heartbeat is known.
    if let end = history.accept(at: now) { quietUntil = max(end, quietUntil ?? end) }
    let pushes = CoordinatorPush.allCases.filter(reply.push.contains)
    return [.accepted(next: max(now, sentAt + Self.interval))] + pushes.map { .pushed($0) }
  }
}
