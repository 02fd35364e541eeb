internal import Timing

/// The states of the pings: which session they use, when the next one is due, and when a session is replaced.
///
/// A session is prepared (a control server grants it), activated (a socket is connected to its server) and then used, until
/// it expires, its token is refused, or another one replaces it.
package struct PingMachine: Sendable {
  package enum Event: Sendable {
    /// The run begins.
    case start
    /// Time has passed.
    case tick
    /// The network is of another kind.
    case network(CoverageNetwork)
    /// The control server has granted a session.
    case prepared(generation: Int, CoverageGrant)
    /// The control server has granted none.
    case preparationFailed(generation: Int)
    /// The socket is connected.
    case activated(generation: Int)
    /// The socket cannot be connected.
    case activationFailed(generation: Int)
    /// A ping was sent at this instant.
    case sent(UInt32, at: Duration)
    /// A ping could not be sent.
    case sendFailed(UInt32)
    /// A reply came at this instant.
    case received(generation: Int, PingPacket.Reply, at: Duration)
    /// The socket reported an error.
    case receiveFailed(generation: Int)
    /// The run ends.
    case stop
  }

  package enum Action: Sendable, Hashable {
    /// Request a session.
    case prepare(generation: Int)
    /// Give up the request for a session.
    case abandonPreparation(generation: Int)
    /// Connect a socket, and close the one before.
    case activate(generation: Int, PingTarget)
    /// Close the socket.
    case close(generation: Int)
    /// Send a ping over the socket.
    case send(generation: Int, UInt32, token: [UInt8])
    /// Report a completed ping.
    case report(PingResult)
    /// Report a granted session.
    case session(CoverageGrant)
    /// Report that the server refuses one token after the other: it sees another address than the control server.
    case addressMismatch
    /// Report that the run has reached its time limit.
    case timeLimit
  }

  /// The times and counts of the rules.
  package struct Rules: Sendable, Hashable {
    package var cadence = Duration.milliseconds(100)
    package var timeout = Duration.seconds(1)
    /// The number of failures in a row after which a session is replaced.
    package var threshold = 30
    package var firstDelay = Duration.seconds(10)
    package var longestDelay = Duration.seconds(120)
    package var preparationLimit = Duration.seconds(15)
    package var activationLimit = Duration.seconds(5)
    /// The shortest time between the starts of two requests, and after which a lost network is tried again.
    package var pause = Duration.seconds(1)
    /// The number of refused tokens in a row that are reported.
    package var mismatches = 3

    package init() {}

    /// The delay number `step`, from 0 on: 10, 20, 40, 80, 120, 120 … s.
    func delay(_ step: Int) -> Duration { min(longestDelay, firstDelay * (1 << min(max(step, 0), 10))) }
  }

  struct Session: Sendable, Hashable {
    var generation: Int
    var target: PingTarget
    var end: Duration
    /// The instant from which on another session is requested, so that no ping is lost at the end.
    var renewal: Duration
  }

  struct Preparation: Sendable, Hashable {
    var generation: Int
    var start: Duration
    var deadline: Duration?
  }

  struct Activation: Sendable, Hashable {
    var session: Session
    var deadline: Duration
  }

  enum Phase: Sendable, Hashable {
    case idle
    /// Without a session, until an instant at which one is requested.
    case waiting(until: Duration)
    /// A session is requested; the old one is used meanwhile, if it can be.
    case preparing(Preparation, old: Session?)
    case activating(Activation)
    case active(Session)
    case finished
  }

  struct Pending: Sendable, Hashable {
    var sequence: UInt32
    var tick: Duration
    var sentAt: Duration
  }

  /// What makes another session necessary or forbids it for a while.
  struct Recovery: Sendable, Hashable {
    /// The failures in a row, in the order of completion.
    var failures = 0
    /// A Boolean value that indicates whether the session is to be replaced for its failures.
    var isNeeded = false
    /// A Boolean value that indicates whether the session is to be replaced because Wi-Fi was used meanwhile.
    var owesRefresh = false
    /// The step of the delays, and the instant before which none is begun.
    var step = 0
    var gate = Duration.zero
    /// The failed activations in a row.
    var activations = 0
    /// The refused tokens in a row.
    var refusals = 0
  }

  let rules: Rules
  var phase = Phase.idle
  var network: CoverageNetwork
  var recovery = Recovery()
  /// The pings in flight, the oldest first.
  var pending: [Pending] = []
  var sequence: UInt32
  var generation = 0
  var start = Duration.zero
  var nextTick = Duration.zero
  var runEnd = Duration.zero
  var hasHadSession = false
  /// The number of ticks that passed without a ping because the program was not run in time.
  package private(set) var stalledTicks = 0

  /// Creates the states of pings that have not begun.
  /// - Parameters:
  ///   - network: The kind of network at the start.
  ///   - sequence: The first sequence number, which should be random.
  package init(network: CoverageNetwork, sequence: UInt32, rules: Rules = Rules()) {
    self.rules = rules
    self.network = network
    self.sequence = sequence
  }

  /// The session whose pings count at present.
  var session: Session? {
    switch phase {
    case .active(let session), .preparing(_, let session?): session
    default: nil
    }
  }

  var isPinging: Bool { session != nil && network != .wifi }

  /// A Boolean value that indicates whether a session can be requested at all.
  var canRequest: Bool { network != .wifi && network != .none }

  // MARK: Time

  /// Passes an event at an instant, which is never earlier than that of the one before.
  package mutating func handle(_ event: Event, at now: Duration) -> [Action] {
    var actions: [Action] = []
    if case .start = event {
      begin(at: now)
    } else {
      pass(to: now, &actions)
      take(event, at: now, &actions)
    }
    return actions
  }

  private mutating func begin(at now: Duration) {
    guard phase == .idle else { return }
    start = now
    nextTick = now
    runEnd = now + CoverageGrant.longest
    phase = .waiting(until: now)
  }

  private mutating func pass(to now: Duration, _ actions: inout [Action]) {
    switch phase {
    case .idle, .finished: return
    default: break
    }
    expirePings(at: now, &actions)
    expirePhases(at: now, &actions)
    guard nextTick <= now else { return }
    let tick = start + rules.cadence * (now - start).whole(rules.cadence)
    if isPinging { stalledTicks += max(0, (tick - nextTick).whole(rules.cadence)) }
    nextTick = tick + rules.cadence
    take(tick: tick, &actions)
  }

  private mutating func expirePings(at now: Duration, _ actions: inout [Action]) {
    while let oldest = pending.first, now >= oldest.sentAt + rules.timeout {
      pending.removeFirst()
      complete(oldest, roundTrip: nil, at: now, &actions)
    }
  }

  private mutating func expirePhases(at now: Duration, _ actions: inout [Action]) {
    if case .preparing(let preparation, _) = phase, let deadline = preparation.deadline, now >= deadline {
      actions.append(.abandonPreparation(generation: preparation.generation))
      failPreparation(preparation.generation, at: now)
    }
    if case .activating(let activation) = phase, now >= activation.deadline {
      failActivation(activation.session.generation, at: now, &actions)
    }
  }

  /// The instant of the next event by time alone; `nil` if there is none.
  package var nextInstant: Duration? {
    var instants: [Duration] = []
    switch phase {
    case .idle, .finished: return nil
    case .waiting(let gate): if canRequest { instants.append(onGrid(gate)) }
    case .preparing(let preparation, _): if let deadline = preparation.deadline { instants.append(deadline) }
    case .activating(let activation): instants.append(activation.deadline)
    case .active: break
    }
    if let session { instants.append(isPinging ? nextTick : onGrid(session.end)) }
    if let oldest = pending.first { instants.append(oldest.sentAt + rules.timeout) }
    instants.append(onGrid(runEnd))
    return instants.min()
  }

  /// The first tick that is due and not earlier than an instant.
  private func onGrid(_ instant: Duration) -> Duration {
    let tick = start + rules.cadence * (instant - start).whole(rules.cadence)
    return max(nextTick, tick < instant ? tick + rules.cadence : tick)
  }
}

extension Duration {
  /// Returns how often another duration fits into this one, in whole nanoseconds: a quotient of floating-point numbers
  /// would be one too small now and then, and a timer would fire for ever.
  func whole(_ part: Duration) -> Int { Int(clamping: wholeNanoseconds / max(part.wholeNanoseconds, 1)) }
}
