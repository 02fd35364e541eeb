import Coverage
import Timing

/// Four hours at 10 pings a second and a location every 720 ms, as a run takes them, with its store.
struct Processing {
  static let ticks = 144_000
  static let fixes = 20_000

  private let store: CoverageStore
  private let run: CoverageRunID
  private var machines = RunMachines(.cellular, .lte, sequence: 7)
  /// The replies that are under way, the oldest first.
  private var replies: [(at: Duration, event: PingMachine.Event)] = []
  private var reports = 0
  private var shown = 0

  static func run(_ path: String) throws {
    let store = try CoverageStore(path: path)
    var processing = Processing(
      store: store, run: CoverageRunID(id: "bench", server: "https://control.example", startUs: 1_800_000_000_000_000))
    let begin = Usage.cpu
    try processing.walk()
    let cpu = Usage.cpu - begin
    let fences = try store.sessions().map(\.fences).reduce(0, +)
    guard processing.reports > ticks - 100, fences > 500 else { throw CoverageError(.invalidArgument, "no such walk") }
    print(cpu, Usage.peak, fences, processing.reports)
  }

  private init(store: CoverageStore, run: CoverageRunID) {
    self.store = store
    self.run = run
  }

  private mutating func walk() throws {
    try store.begin(run)
    try perform(machines.handle(.start, at: .zero), at: .zero)
    var fix = 0
    for tick in 0..<Self.ticks {
      let now = Duration.milliseconds(100 * tick)
      while let reply = replies.first, reply.at <= now {
        replies.removeFirst()
        try perform(machines.handle(.ping(reply.event), at: reply.at), at: reply.at)
      }
      try perform(machines.handle(.tick, at: now), at: now)
      if machines.isShownAnew(at: now) { shown += machines.status(at: now).fences }
      guard tick * Self.fixes / Self.ticks >= fix else { continue }
      try perform(machines.handle(.input(.location(try Self.location(fix))), at: now), at: now)
      fix += 1
    }
    let end = Duration.milliseconds(100 * Self.ticks)
    try store.apply(machines.stop(at: end), of: run, at: end)
  }

  /// A walk of 20 km to the north; now and then the receiver sees too little of the sky.
  private static func location(_ number: Int) throws -> CoverageLocation {
    let place = CoverageLocation(
      latitude: 48 + Double(number) * 1.008 / 111_195, longitude: 16 + Double(number % 11) * 1e-6,
      accuracy: number % 97 < 4 ? 40 : 4 + Double(number % 7), altitude: 180, bearing: 0, speed: 1.4)
    guard let place else { throw CoverageError(.invalidArgument, "no such place") }
    return place
  }

  private mutating func perform(_ actions: [RunMachines.Action], at now: Duration) throws {
    var changes: [FenceMachine.Action] = []
    for action in actions {
      switch action {
      case .ping(let action): try perform(action, at: now)
      case .fence(let change): changes.append(change)
      }
    }
    if !changes.isEmpty { try store.apply(changes, of: run, at: now) }
  }

  private mutating func perform(_ action: PingMachine.Action, at now: Duration) throws {
    switch action {
    case .prepare(let generation):
      let target = PingTarget(host: "127.0.0.1", port: 9, token: [UInt8](repeating: 1, count: 16))
      let grant = CoverageGrant(session: "session-\(generation)", pings: target)
      try perform(machines.handle(.ping(.prepared(generation: generation, grant)), at: now), at: now)
    case .activate(let generation, _):
      try perform(machines.handle(.ping(.activated(generation: generation)), at: now), at: now)
    case .send(let generation, let sequence, _):
      try perform(machines.handle(.ping(.sent(sequence, at: now)), at: now), at: now)
      // One of 50 is lost.
      guard sequence % 50 != 0 else { return }
      let at = now + .milliseconds(20 + Int(sequence % 60))
      replies.append((at, .received(generation: generation, .good(sequence), at: at)))
    case .report: reports += 1
    default: break
    }
  }
}
