/// The two machines of a run, joined: completed pings and granted sessions go from the pings to the fences.
package struct RunMachines: Sendable {
  package enum Event: Sendable {
    case start
    case tick
    case input(CoverageRun.Input)
    case ping(PingMachine.Event)
  }

  package enum Action: Sendable, Hashable {
    case ping(PingMachine.Action)
    case fence(FenceMachine.Action)
  }

  private var pings: PingMachine
  private var fences: FenceMachine
  private var latest = LatestPings(start: .zero)
  private var counts = CoverageStatus.Pings()
  private var network: CoverageNetwork
  private var technology: CoverageTechnology
  private var accuracy: Double?
  private var shownAt: Duration?
  /// The identifier of the chain that the last session named.
  private(set) var loop: String?
  /// The last failure, in words.
  var problem: String?

  package init(
    _ network: CoverageNetwork, _ technology: CoverageTechnology,
    sequence: UInt32 = .random(in: 0 ... .max)
  ) {
    self.network = network
    self.technology = technology
    pings = PingMachine(network: network, sequence: sequence)
    fences = FenceMachine(network: network, technology: technology, at: .zero)
  }

  /// Passes an event at an instant since the start of the run.
  package mutating func handle(_ event: Event, at now: Duration) -> [Action] {
    switch event {
    case .start: return joined(pings.handle(.start, at: now), at: now) + handle(.tick, at: now)
    case .tick: return joined(pings.handle(.tick, at: now), at: now) + fences.handle(.tick, at: now).map { .fence($0) }
    case .ping(let event): return joined(pings.handle(event, at: now), at: now)
    case .input(let input): return take(input, at: now)
    }
  }

  private mutating func take(_ input: CoverageRun.Input, at now: Duration) -> [Action] {
    switch input {
    case .location(let location):
      accuracy = location.accuracy
      return fences.handle(.location(location), at: now).map { .fence($0) }
    case .locationLost:
      accuracy = nil
      return fences.handle(.locationLost, at: now).map { .fence($0) }
    case .technology(let new):
      technology = new
      return fences.handle(.technology(new), at: now).map { .fence($0) }
    case .network(let new):
      network = new
      // First the fences: what the pings report now was measured before.
      let changes = fences.handle(.network(new), at: now).map { Action.fence($0) }
      return changes + joined(pings.handle(.network(new), at: now), at: now)
    }
  }

  private mutating func joined(_ actions: [PingMachine.Action], at now: Duration) -> [Action] {
    var joined: [Action] = []
    for action in actions {
      joined.append(.ping(action))
      switch action {
      case .report(let ping):
        latest.add(ping)
        if ping.roundTrip == nil { counts.lost += 1 } else { counts.answered += 1 }
        joined += fences.handle(.ping(ping), at: now).map { .fence($0) }
      case .session(let grant):
        loop = grant.loop ?? loop
        problem = nil
        joined += fences.handle(.session(grant.session), at: now).map { .fence($0) }
      default: break
      }
    }
    return joined
  }

  /// Ends the run.
  package mutating func stop(at now: Duration) -> [FenceMachine.Action] {
    // What is in flight is no loss of the network.
    _ = pings.handle(.stop, at: now)
    return fences.handle(.stop, at: now)
  }

  var nextInstant: Duration? { [pings.nextInstant, fences.nextInstant].compactMap { $0 }.min() }

  // MARK: Display

  /// Returns `true` once a second.
  package mutating func isShownAnew(at now: Duration) -> Bool {
    if let shownAt, now < shownAt + .seconds(1) { return false }
    shownAt = now
    return true
  }

  package func status(at now: Duration) -> CoverageStatus {
    var counts = counts
    counts.stalled = pings.stalledTicks
    let mean: CoverageStatus.Latest =
      switch latest.label(at: now) {
      case .notAvailable: .notAvailable
      case .pending: .pending
      case .mean(let mean): .mean(mean)
      }
    return CoverageStatus(
      elapsed: now, network: network, technology: technology, session: fences.session, latest: mean, pings: counts,
      fences: fences.count, accuracy: accuracy, warnings: fences.warnings(at: now), problem: problem)
  }
}
