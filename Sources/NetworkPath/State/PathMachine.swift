/// Decides what is told of a path and when; does nothing itself and has no clock.
struct PathMachine: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// How far apart two dumps are at least: links that flap must not keep the kernel busy with thousands of routes.
  /// Shorter than any settle time that is not 0, so that what is told has been looked at.
  static let dumpSpacing: Duration = .milliseconds(100)
  /// When a dump that failed is tried again.
  static let dumpRetry: Duration = .seconds(1)

  private var tables = PathTables()
  private(set) var surroundings = PathSurroundings()
  private var settling: Settling
  private var number = 0
  private var lastDump: Instant?
  private var nextDump: Instant?
  /// Messages were lost: nothing is to be told before the dump.
  private var isBlind = true

  init(settleDown: Duration, settleUp: Duration) {
    settling = Settling(down: settleDown, up: settleUp)
  }

  /// The links known, by index.
  var links: some Collection<Int32> { tables.links.keys }

  /// Counts the ways out there were, so that a probe's answer about one of them is not taken for another.
  private(set) var wayOut = 0
  /// Whether there is one now, as far as the kernel knows.
  var hasWayOut: Bool { !gateways.isEmpty }
  private var gateways: [PathSnapshot.Gateway] = []

  /// The kernel has told of a change.
  mutating func handle(_ messages: [RouteMessage], at now: Instant) {
    var wantsDump = false
    for message in messages { wantsDump = tables.apply(message) || wantsDump }
    if wantsDump { askForDump(at: now) }
    offer(at: now)
  }

  /// The kernel has told of more than could be read.
  mutating func handleOverrun(at now: Instant) {
    isBlind = true
    askForDump(at: now)
  }

  /// The answer to ``dumpIsDue(at:)``.
  mutating func handleDump(_ messages: [RouteMessage], at now: Instant) {
    tables = PathTables(messages)
    (isBlind, nextDump, lastDump) = (false, nil, now)
    offer(at: now)
  }

  /// The kernel did not answer.
  mutating func handleFailedDump(at now: Instant) {
    nextDump = now + Self.dumpRetry
  }

  /// Something else has changed.
  mutating func update(at now: Instant, _ change: (inout PathSurroundings) -> Void) {
    change(&surroundings)
    offer(at: now)
  }

  /// A probe has answered, about the way out with this number.
  mutating func handleProbe(_ reachability: Reachability, about wayOut: Int, at now: Instant) {
    guard wayOut == self.wayOut, hasWayOut else { return }
    update(at: now) { $0.reachability = reachability }
  }

  /// When to come back at the latest.
  var deadline: Instant? {
    switch (nextDump, isBlind ? nil : settling.deadline) {
    case (let dump?, let update?): min(dump, update)
    case (let dump?, nil): dump
    case (nil, let update): update
    }
  }

  /// Whether all has to be asked for again now.
  func dumpIsDue(at now: Instant) -> Bool { nextDump.map { $0 <= now } ?? (lastDump == nil) }

  /// What is to be told now.
  mutating func takeUpdate(at now: Instant) -> PathUpdate? {
    guard !isBlind else { return nil }
    let told = settling.told
    guard let (path, transients) = settling.due(at: now) else { return nil }
    number += 1
    var changes = told.map { path.changes(since: $0) } ?? []
    if transients > 0 { changes.append(.transient(count: transients)) }
    return PathUpdate(number: number, path: path, changes: changes)
  }

  private mutating func askForDump(at now: Instant) {
    let earliest = max(now, lastDump.map { $0 + Self.dumpSpacing } ?? now)
    nextDump = nextDump.map { min($0, earliest) } ?? earliest
  }

  private mutating func offer(at now: Instant) {
    guard !isBlind else { return }
    var path = tables.snapshot(surroundings)
    if path.gateways != gateways {
      gateways = path.gateways
      wayOut += 1
      if surroundings.reachability != nil {
        surroundings.reachability = nil
        path = tables.snapshot(surroundings)
      }
    }
    settling.offer(path, at: now)
  }
}
