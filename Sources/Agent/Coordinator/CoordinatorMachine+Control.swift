/// Registrations and heartbeats: one at a time, and never in the way of anything else.
extension CoordinatorMachine {
  /// What the next of them is.
  private var controlCall: Call { session.isRegistered || session.mayBeRegistered ? .heartbeat : .register }

  /// When the next of them is due; `nil` while one is under way.
  var nextControl: Duration? {
    guard isActive, control == nil else { return nil }
    var due = max(controlAt, refusal?.until ?? controlAt)
    if controlCall == .register {
      if unsavedUntil != nil { return nil }
      due = max(due, session.registrationAllowed(at: due))
    }
    return due
  }

  mutating func sendControl(at now: Duration, _ effects: inout [Effect]) {
    let call = controlCall
    (control, controlSentAt) = (call, now)
    // Before it is sent: a crash must not make it forgotten.
    if call == .register { session.noteRegistration(at: now) }
    if call == .heartbeat { session.sendHeartbeat(at: now) }
    // The registration brings the key: before, a signature would count as a wrong one.
    effects.append(.send(call, isSigned: session.isRegistered && signs(call, .needed, at: now)))
  }

  mutating func endControl(
    _ call: Call, _ outcome: Outcome, at now: Duration, _ random: Double, _ effects: inout [Effect]
  ) {
    control = nil
    session.sentHeartbeat = nil
    if call == .heartbeat, outcome.isUnsure { session.unsureHeartbeat = controlSentAt }
    switch outcome {
    case .none(let error):
      if call == .register {
        session.mayBeRegistered = error.mayHaveArrived
        // What never got there does not count.
        if !error.mayHaveArrived { session.registrations.removeLast() }
      }
      fail("\(error)", at: now, random, &effects)
    case .answer(let answer):
      switch CoordinatorVerdict(answer) {
      case .done(let body):
        do throws(AgentError) {
          if call == .register {
            try registered(try body.decoded(as: RegisterReply.self, from: call.path), at: now, &effects)
          } else {
            try beaten(try body.decoded(as: HeartbeatReply.self, from: call.path), at: now, &effects)
          }
        } catch {
          fail(error.message, at: now, random, &effects)
        }
      case .unauthorized(let reason) where call == .heartbeat: unauthorized(reason, at: now, random, &effects)
      case .forbidden(let reason):
        if call == .heartbeat { session.unsureHeartbeat = controlSentAt }
        refuse(reason, at: now, &effects)
      case .failed(let reason):
        if call == .register { session.mayBeRegistered = true }
        fail(reason, at: now, random, &effects)
      case .unauthorized(let reason), .refused(let reason): fail(reason, at: now, random, &effects)
      }
    }
  }

  private mutating func registered(
    _ reply: RegisterReply, at now: Duration, _ effects: inout [Effect]
  ) throws(AgentError) {
    guard reply.accepted else { return refuse("the coordinator has not accepted the registration", at: now, &effects) }
    (session.isRegistered, session.mayBeRegistered) = (true, false)
    session.meshToken = reply.meshToken
    effects.append(.log("the coordinator has registered this machine"))
    // A heartbeat comes before any work.
    controlAt = now
  }

  private mutating func beaten(
    _ reply: HeartbeatReply, at now: Duration, _ effects: inout [Effect]
  ) throws(AgentError) {
    guard reply.ok else {
      // It may count all the same.
      session.unsureHeartbeat = controlSentAt
      let reason = reply.reason.map { ": \($0.prefix(CoordinatorVerdict.reasonLimit))" } ?? ""
      return refuse((reply.blacklisted ? "the coordinator has banned this machine" : "no") + reason, at: now, &effects)
    }
    (session.isRegistered, session.mayBeRegistered) = (true, false)
    session.noteHeartbeat(at: now)
    if !isConnected {
      effects += [.connected, .log("the coordinator takes this machine's heartbeat")]
    }
    (isConnected, failures, problem, refusal) = (true, 0, nil, nil)
    controlAt = max(now, controlSentAt + Self.heartbeatInterval)
  }

  /// The coordinator does not know the machine (any more), or does not believe that it is this one.
  mutating func unauthorized(_ reason: String, at now: Duration, _ random: Double, _ effects: inout [Effect]) {
    if reason.contains("signature_invalid") || reason.contains("agent_id_mismatch") {
      // Five of these within an hour are a ban; requests without a signature are as good.
      let wasSigning = session.unsignedUntil.map { $0 <= now } ?? true
      rest(fromSigningUntil: now + CoordinatorSession.registrationWindow)
      guard wasSigning else { return fail(reason, at: now, random, &effects) }
      effects.append(
        .log("the coordinator does not take this machine's signature; for an hour there is none: \(reason)"))
      controlAt = now
      return
    }
    if reason.contains("agent_not_registered") {
      // That also explains why it could not verify a signature.
      session.forgotten(at: now)
    } else {
      (session.isRegistered, session.mayBeRegistered, session.meshToken) = (false, false, nil)
    }
    (isConnected, problem) = (false, reason)
    effects.append(.log("the coordinator does not know this machine: \(reason)"))
    controlAt = now
  }

  mutating func refuse(_ reason: String, at now: Duration, _ effects: inout [Effect]) {
    refusal = Refusal(reason: reason, until: now + Self.refusalPause)
    (isConnected, problem) = (false, reason)
    effects += [.log("the coordinator will not have this machine: \(reason)"), .refused(reason)]
  }

  private mutating func fail(_ reason: String, at now: Duration, _ random: Double, _ effects: inout [Effect]) {
    failures += 1
    if failures == Self.failuresToTell { effects.append(.log("the coordinator cannot be reached: \(reason)")) }
    if failures >= Self.failuresToTell { isConnected = false }
    problem = reason
    controlAt = now + Self.delays.delay(afterFailures: failures, random: random)
  }
}
