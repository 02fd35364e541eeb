/// The state machine that decides which paths are published, and when the kernel's tables are dumped again.
struct PathMachine: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// The events that the state machine accepts.
  enum Event: Sendable {
    /// The kernel has sent messages about changes; `areLost` if some were lost, because they came too fast.
    case messages([RouteMessage], areLost: Bool = false)
    /// The complete tables, which the action ``Action/dump`` requested.
    case dump([RouteMessage])
    /// The kernel did not return the tables.
    case dumpFailed
    /// The kernel's decision about packets of each family, as far as it says one.
    case choices([IPAddress.Family: RouteChoice])
    /// The name servers were read.
    case nameServers([IPAddress])
    /// The metered source has a new estimate.
    case metered(Metered?)
    /// The metered source has not reported in time: a guess takes its place.
    case meteredIsLate
    /// The probe of the route with this number has a result.
    case probed(Reachability, route: Int)
    /// The deadline may have passed.
    case timer
  }

  /// The actions that the owner performs, in order.
  enum Action: Sendable, Hashable {
    /// Delivers an update to the subscribers.
    case publish(PathUpdate)
    /// Probes the route with this number, or stops probing.
    case probe(route: Int?)
    /// Reads the kernel's complete tables.
    case dump
  }

  /// The trust in the tables.
  private enum Knowledge: Sendable {
    /// Messages were lost, or none were read yet: nothing is published before a dump.
    case stale
    /// The tables are those of the kernel, as of its newest message.
    case current
  }

  /// The schedule of dumps.
  private struct Dumps: Sendable {
    var last: Instant?
    var next: Instant?

    /// The earliest instant at which a dump is due; the first one is due at once.
    func isDue(at now: Instant) -> Bool { next.map { $0 <= now } ?? (last == nil) }

    mutating func request(at now: Instant) {
      let earliest = max(now, last.map { $0 + PathMachine.dumpSpacing } ?? now)
      next = next.map { min($0, earliest) } ?? earliest
    }
  }

  /// The shortest time between two dumps: links that flap must not keep the kernel busy with thousands of routes.
  /// Shorter than any settle time that is not 0, so that what is published has been dumped.
  static let dumpSpacing: Duration = .milliseconds(100)
  /// The time after which a failed dump is retried.
  static let dumpRetry: Duration = .seconds(1)

  private var tables = PathTables()
  private(set) var surroundings = PathSurroundings()
  private var settling: Settling
  private var knowledge = Knowledge.stale
  private var dumps = Dumps()
  /// A Boolean value that indicates whether the first snapshot waits for the metered source: it would be a guess.
  private var awaitsMetered: Bool
  private var number = 0
  /// Counts the sets of gateways, so that a result of the probe is not taken for that of another route.
  private(set) var route = 0
  private var gateways: [PathSnapshot.Gateway] = []
  private var probed: Int?

  /// - Parameter awaitsMetered: Whether nothing is published before the metered source has reported, or is late.
  init(settleDown: Duration, settleUp: Duration, awaitsMetered: Bool = false) {
    self.awaitsMetered = awaitsMetered
    settling = Settling(down: settleDown, up: settleUp)
  }

  /// The indices of the known links.
  var links: some Collection<Int32> { tables.links.keys }

  /// Whether the kernel has a usable default route.
  var hasRoute: Bool { !gateways.isEmpty }

  mutating func handle(_ event: Event, at now: Instant) -> [Action] { handle([event], at: now) }

  /// Handles events that were read together: at most one update results, whatever the settle times are.
  mutating func handle(_ events: [Event], at now: Instant) -> [Action] {
    for event in events { apply(event, at: now) }
    offer(at: now)
    var actions: [Action] = []
    if let update = takeUpdate(at: now) { actions.append(.publish(update)) }
    let route = hasRoute ? route : nil
    if probed != route {
      probed = route
      actions.append(.probe(route: route))
    }
    // After the update: that a link is down is published without a dump.
    if dumps.isDue(at: now) { actions.append(.dump) }
    return actions
  }

  /// The latest instant of the next ``Event/timer``.
  var deadline: Instant? {
    let update = knowledge == .current && !awaitsMetered ? settling.deadline : nil
    guard let dump = dumps.next, let update else { return dumps.next ?? update }
    return min(dump, update)
  }

  private mutating func apply(_ event: Event, at now: Instant) {
    switch event {
    case .messages(let messages, let areLost):
      var needsDump = areLost
      for message in messages { needsDump = tables.apply(message) || needsDump }
      if areLost { knowledge = .stale }
      if needsDump { dumps.request(at: now) }
    case .dump(let messages):
      tables = PathTables(messages)
      knowledge = .current
      dumps = Dumps(last: now)
    case .dumpFailed: dumps.next = now + Self.dumpRetry
    case .choices(let choices): surroundings.choices = choices
    case .nameServers(let servers): surroundings.dnsServers = servers
    case .metered(let metered):
      surroundings.metered = metered
      awaitsMetered = false
    case .meteredIsLate: awaitsMetered = false
    case .probed(let result, let route):
      guard route == self.route, hasRoute else { return }
      surroundings.reachability = result
    case .timer: return
    }
  }

  private mutating func takeUpdate(at now: Instant) -> PathUpdate? {
    guard knowledge == .current, !awaitsMetered else { return nil }
    let published = settling.published
    guard let (path, transients) = settling.takeDue(at: now) else { return nil }
    number += 1
    var changes = published.map { path.changes(since: $0) } ?? []
    if transients > 0 { changes.append(.transient(count: transients)) }
    return PathUpdate(number: number, path: path, changes: changes)
  }

  private mutating func offer(at now: Instant) {
    guard knowledge == .current else { return }
    var path = tables.snapshot(surroundings)
    if path.gateways != gateways {
      gateways = path.gateways
      route += 1
      if surroundings.reachability != nil {
        surroundings.reachability = nil
        path = tables.snapshot(surroundings)
      }
    }
    settling.offer(path, at: now)
  }
}
