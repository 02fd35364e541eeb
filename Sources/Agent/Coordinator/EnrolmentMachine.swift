/// The state machine of the enrolment: whether the coordinator knows this machine, and when it may be asked to.
///
/// It never sends nine registrations within an hour.
struct EnrolmentMachine: Sendable, Hashable {
  /// The states of the enrolment.
  enum State: Sendable, Hashable {
    /// The coordinator does not know this machine.
    case unregistered
    /// A registration is under way.
    case registering
    /// A registration was sent, and its result is unknown. The next heartbeat finds out.
    case uncertain
    /// The coordinator knows this machine.
    case registered
  }

  /// The events that the state machine accepts.
  enum Event: Sendable {
    /// A registration is about to be sent.
    case send
    /// The registration has ended.
    case ended(CoordinatorMachine.Outcome)
    /// The coordinator accepted a heartbeat, and so knows this machine.
    case heartbeatAccepted
    /// The coordinator does not know this machine; its token may still be valid.
    case forgotten
    /// The coordinator does not accept this machine's token.
    case tokenRejected
  }

  /// The actions that the state machine's owner performs.
  enum Action: Sendable, Hashable {
    /// Send a heartbeat: the coordinator has registered this machine.
    case registered
    /// Send nothing for a while: the coordinator does not register this machine, for this reason.
    case refused(String)
    /// Try again later: the registration failed, for this reason.
    case failed(String)
  }

  /// The state of the enrolment.
  private(set) var state: State
  /// The token that every request carries; `nil` when the coordinator issued none.
  private(set) var meshToken: String?
  /// The instants of the registrations within an hour that may have arrived.
  private(set) var registrations: [Duration]

  /// Creates the state machine with the restored state.
  init(_ session: CoordinatorSession) {
    state =
      switch session.enrolment {
      case .unregistered: .unregistered
      case .uncertain: .uncertain
      case .registered: .registered
      }
    meshToken = session.meshToken
    registrations = session.registrations
  }

  /// The state that must survive a restart.
  var enrolment: CoordinatorSession.Enrolment {
    switch state {
    case .unregistered, .registering: .unregistered
    case .uncertain: .uncertain
    case .registered: .registered
    }
  }

  /// A Boolean value that indicates whether a registration has to come before a heartbeat.
  var needsRegistration: Bool { state == .unregistered }

  /// Handles an event.
  /// - Returns: The actions to perform, in this order.
  mutating func handle(_ event: Event, at now: Duration) -> [Action] {
    switch event {
    case .send:
      state = .registering
      registrations = registrations.filter { now - $0 < CoordinatorSession.registrationWindow } + [now]
      return []
    case .ended(let outcome):
      state = .unregistered
      return [ended(outcome)]
    case .heartbeatAccepted: state = .registered
    case .forgotten: if state != .registering { state = .unregistered }
    case .tokenRejected:
      if state != .registering { state = .unregistered }
      meshToken = nil
    }
    return []
  }

  private mutating func ended(_ outcome: CoordinatorMachine.Outcome) -> Action {
    switch outcome {
    case .none(let error):
      if error.mayHaveArrived { state = .uncertain } else { registrations.removeLast() }
      return .failed("\(error)")
    case .answer(let answer):
      switch CoordinatorVerdict(answer) {
      case .done(let body):
        do throws(AgentError) {
          let reply = try body.decoded(as: RegisterReply.self, from: CoordinatorMachine.Call.register.path)
          guard reply.accepted else { return .refused("the coordinator did not accept the registration") }
          state = .registered
          meshToken = reply.meshToken
          return .registered
        } catch {
          return .failed(error.message)
        }
      case .forbidden(let reason): return .refused(reason)
      case .busy(let reason), .failed(let reason):
        state = .uncertain
        return .failed(reason)
      case .unauthorized(let reason), .refused(let reason): return .failed(reason)
      }
    }
  }

  /// Returns the earliest instant at which a registration may be sent.
  func registrationAllowed(at now: Duration) -> Duration {
    let recent = registrations.filter { now - $0 < CoordinatorSession.registrationWindow }
    guard let last = recent.max() else { return now }
    return last + CoordinatorSession.registrationPause * (1 << min(recent.count - 1, 16))
  }
}
