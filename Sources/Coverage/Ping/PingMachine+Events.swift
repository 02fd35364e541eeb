extension PingMachine {
  mutating func take(_ event: Event, at now: Duration, _ actions: inout [Action]) {
    switch event {
    case .start, .tick: break
    case .network(let network): change(to: network, at: now, &actions)
    case .prepared(let generation, let grant): prepared(generation, grant, at: now, &actions)
    case .preparationFailed(let generation): failPreparation(generation, at: now)
    case .activated(let generation): activated(generation)
    case .activationFailed(let generation): failActivation(generation, at: now, &actions)
    case .sent(let sequence, let instant):
      if let index = pending.firstIndex(where: { $0.sequence == sequence }) { pending[index].sentAt = instant }
    case .sendFailed(let sequence):
      if let ping = removePending(sequence) { complete(ping, roundTrip: nil, at: now, &actions) }
    case .received(let generation, let reply, let instant):
      guard generation == session?.generation else { return }
      received(reply, at: instant, now, &actions)
    case .receiveFailed(let generation):
      guard generation == session?.generation else { return }
      let failed = pending
      pending = []
      for ping in failed { complete(ping, roundTrip: nil, at: now, &actions) }
    case .stop: stop(&actions)
    }
  }

  private mutating func stop(_ actions: inout [Action]) {
    endPhase(&actions)
    phase = .finished
  }

  /// Ends what the phase has begun: a request, a socket and the pings in flight.
  private mutating func endPhase(_ actions: inout [Action]) {
    if case .preparing(let preparation, _) = phase {
      actions.append(.abandonPreparation(generation: preparation.generation))
    }
    if case .activating(let activation) = phase { actions.append(.close(generation: activation.session.generation)) }
    if let session { actions.append(.close(generation: session.generation)) }
    pending = []
  }

  // MARK: Ticks

  mutating func take(tick: Duration, _ actions: inout [Action]) {
    if tick >= runEnd {
      endPhase(&actions)
      phase = .finished
      actions.append(.timeLimit)
      return
    }
    if let session, tick >= session.end {
      cut(until: tick, &actions)
      beginPreparation(at: tick, &actions)
      return
    }
    beginPreparation(at: tick, &actions)
    guard isPinging, let session else { return }
    pending.append(Pending(sequence: sequence, tick: tick, sentAt: tick))
    actions.append(.send(generation: session.generation, sequence, token: session.target.token))
    sequence &+= 1
  }

  /// Requests a session if one is needed, and may be requested now.
  private mutating func beginPreparation(at tick: Duration, _ actions: inout [Action]) {
    guard canRequest else { return }
    let old: Session?
    switch phase {
    case .waiting(let gate):
      guard tick >= gate else { return }
      old = nil
    case .active(let session):
      let isNeeded = recovery.isNeeded || recovery.owesRefresh || tick >= session.renewal
      guard isNeeded, tick >= recovery.gate else { return }
      recovery.gate = tick + rules.delay(recovery.step)
      recovery.step += 1
      old = session
    default: return
    }
    generation += 1
    // The first request of a run may take as long as the host has no network.
    let deadline = hasHadSession ? tick + rules.preparationLimit : nil
    phase = .preparing(Preparation(generation: generation, start: tick, deadline: deadline), old: old)
    actions.append(.prepare(generation: generation))
  }

  /// Drops the session at once; a request that is under way goes on.
  private mutating func cut(until gate: Duration, _ actions: inout [Action]) {
    guard let session else { return }
    actions.append(.close(generation: session.generation))
    pending = []
    recovery.failures = 0
    recovery.isNeeded = false
    if case .preparing(let preparation, _) = phase {
      phase = .preparing(preparation, old: nil)
    } else {
      phase = .waiting(until: gate)
    }
  }

  // MARK: Network

  private mutating func change(to new: CoverageNetwork, at now: Duration, _ actions: inout [Action]) {
    let old = network
    network = new
    guard new != old, phase != .idle, phase != .finished else { return }
    if new == .wifi {
      // What is in flight is measured over Wi-Fi, at least in part.
      pending = []
      if session != nil { recovery.owesRefresh = true }
      if case .activating = phase { recovery.owesRefresh = true }
      if case .preparing(let preparation, let session) = phase {
        actions.append(.abandonPreparation(generation: preparation.generation))
        phase = session.map { .active($0) } ?? .waiting(until: preparation.start + rules.pause)
      }
    }
    if case .waiting(let gate) = phase, old == .none { phase = .waiting(until: max(gate, now + rules.pause)) }
  }

  // MARK: Sessions

  private mutating func prepared(
    _ generation: Int, _ grant: CoverageGrant, at now: Duration, _ actions: inout [Action]
  ) {
    guard case .preparing(let preparation, let old) = phase, preparation.generation == generation else { return }
    guard let target = grant.pings else { return failPreparation(generation, at: now) }
    hasHadSession = true
    recovery.owesRefresh = false
    runEnd = min(runEnd, start + grant.runLimit)
    if let old { actions.append(.close(generation: old.generation)) }
    // The pings of the old socket have no reply that could still arrive.
    pending = []
    let session = Session(
      generation: generation, target: target, end: preparation.start + grant.window,
      renewal: preparation.start + grant.window - min(.seconds(60), grant.window / 10))
    phase = .activating(Activation(session: session, deadline: now + rules.activationLimit))
    actions += [.session(grant), .activate(generation: generation, target)]
  }

  mutating func failPreparation(_ generation: Int, at now: Duration) {
    guard case .preparing(let preparation, let old) = phase, preparation.generation == generation else { return }
    // With an old session, the delays between two recoveries say when the next one begins.
    phase = old.map { .active($0) } ?? .waiting(until: max(now, preparation.start + rules.pause))
  }

  private mutating func activated(_ generation: Int) {
    guard case .activating(let activation) = phase, activation.session.generation == generation else { return }
    phase = .active(activation.session)
    recovery.activations = 0
    recovery.failures = 0
    recovery.isNeeded = false
  }

  mutating func failActivation(_ generation: Int, at now: Duration, _ actions: inout [Action]) {
    guard case .activating(let activation) = phase, activation.session.generation == generation else { return }
    recovery.activations += 1
    let delay = recovery.activations == 1 ? rules.pause : rules.delay(recovery.activations - 2)
    phase = .waiting(until: now + delay)
    actions.append(.close(generation: generation))
  }

  // MARK: Pings

  private mutating func removePending(_ sequence: UInt32) -> Pending? {
    pending.firstIndex { $0.sequence == sequence }.map { pending.remove(at: $0) }
  }

  private mutating func received(
    _ reply: PingPacket.Reply, at instant: Duration, _ now: Duration, _ actions: inout [Action]
  ) {
    switch reply {
    case .good(let sequence):
      guard let ping = removePending(sequence) else { return }
      let roundTrip = max(instant - ping.sentAt, .zero)
      complete(ping, roundTrip: roundTrip < rules.timeout ? roundTrip : nil, at: now, &actions)
    case .refused(let sequence):
      guard removePending(sequence) != nil else { return }
      recovery.refusals += 1
      // One refusal is an address that has changed; more of them are one that two servers see differently.
      let isFirst = recovery.refusals == 1
      cut(until: isFirst ? now : now + rules.delay(recovery.refusals - 2), &actions)
      if recovery.refusals == rules.mismatches { actions.append(.addressMismatch) }
    }
  }

  mutating func complete(
    _ ping: Pending, roundTrip: Duration?, at now: Duration, _ actions: inout [Action]
  ) {
    if roundTrip != nil {
      recovery.failures = 0
      recovery.isNeeded = false
      recovery.refusals = 0
      recovery.step = 0
      recovery.gate = min(recovery.gate, now + rules.firstDelay)
    } else {
      recovery.failures += 1
      if recovery.failures >= rules.threshold { recovery.isNeeded = true }
    }
    actions.append(.report(PingResult(at: ping.tick, roundTrip: roundTrip)))
  }
}
