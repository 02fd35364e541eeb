import Testing

@testable import Coverage

/// A ping machine with its clock, a control server and a ping server, all moved by a test.
struct PingDriver {
  /// The reaction of the ping server to each ping.
  enum Link {
    /// A reply comes after 20 ms.
    case good
    /// Nothing comes.
    case silent
    /// The token is refused.
    case refused
    /// The kernel takes no datagram.
    case broken
  }

  var machine: PingMachine
  private(set) var now = Duration.zero
  var link = Link.good
  /// Whether the control server grants, declines, or does not answer (`nil`).
  var grants: Bool? = true
  /// Whether sockets are connected, fail, or take for ever (`nil`).
  var connects: Bool? = true
  var window = CoverageGrant.longest
  private(set) var reports: [PingResult] = []
  private(set) var prepared: [Duration] = []
  private(set) var activated: [Duration] = []
  private(set) var sent: [(at: Duration, generation: Int)] = []
  private(set) var others: [PingMachine.Action] = []
  private var generation = 0
  private var replies: [(at: Duration, event: PingMachine.Event)] = []

  init(network: CoverageNetwork = .cellular) {
    machine = PingMachine(network: network, sequence: 4_294_967_290)
    take(.start)
  }

  static func target(_ number: UInt8 = 1) -> PingTarget? {
    PingTarget(host: "127.0.0.1", port: 9, version: 4, token: [UInt8](repeating: number, count: 16))
  }

  mutating func take(_ event: PingMachine.Event) { perform(machine.handle(event, at: now)) }

  /// Moves the clock to an instant, through every instant that matters.
  mutating func pass(to end: Duration) {
    while true {
      let due = replies.first?.at
      guard let next = [machine.nextInstant, due].compactMap({ $0 }).min(), next <= end else { break }
      now = max(now, next)
      if let due, due <= now {
        take(replies.removeFirst().event)
      } else {
        take(.tick)
      }
    }
    now = end
  }

  mutating func pass(_ duration: Duration) { pass(to: now + duration) }

  private mutating func perform(_ actions: [PingMachine.Action]) {
    for action in actions {
      switch action {
      case .prepare(let generation):
        prepared.append(now)
        self.generation = generation
        if let grants { answer(grants, generation) }
      case .activate(let generation, _):
        activated.append(now)
        if let connects {
          take(connects ? .activated(generation: generation) : .activationFailed(generation: generation))
        }
      case .send(let generation, let sequence, _): send(generation, sequence)
      case .report(let ping): reports.append(ping)
      default: others.append(action)
      }
    }
  }

  /// Lets the control server answer the newest request.
  mutating func answer(_ isGranted: Bool) { answer(isGranted, generation) }

  private mutating func answer(_ isGranted: Bool, _ generation: Int) {
    let grant = CoverageGrant(session: "s\(generation)", pings: Self.target(), window: window)
    take(isGranted ? .prepared(generation: generation, grant) : .preparationFailed(generation: generation))
  }

  private mutating func send(_ generation: Int, _ sequence: UInt32) {
    sent.append((now, generation))
    let at = now + .milliseconds(20)
    switch link {
    case .good: replies.append((at, .received(generation: generation, .good(sequence), at: at)))
    case .refused: replies.append((at, .received(generation: generation, .refused(sequence), at: at)))
    case .broken: take(.sendFailed(sequence))
    case .silent: break
    }
  }

  var failures: Int { reports.count { $0.roundTrip == nil } }
  var sessions: Int { others.count { if case .session = $0 { true } else { false } } }
}
