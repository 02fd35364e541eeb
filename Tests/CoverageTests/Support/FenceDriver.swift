@testable import Coverage

/// A fence machine with its clock, and what it has stored.
struct FenceDriver {
  var machine: FenceMachine
  private(set) var now = Duration.zero
  /// The stored fences by number, and the session that each is in.
  private(set) var stored: [Int: (fence: Fence, session: Int)] = [:]
  /// The identifiers of the sessions, the first one first.
  private(set) var sessions: [String?] = [nil]
  private(set) var actions: [FenceMachine.Action] = []

  init(_ network: CoverageNetwork = .cellular, _ technology: CoverageTechnology = .lte) {
    machine = FenceMachine(network: network, technology: technology, at: .zero)
  }

  /// Returns a location so many metres north of the beginning.
  static func place(_ metres: Double, accuracy: Double? = 5, speed: Double? = nil) -> CoverageLocation? {
    CoverageLocation(latitude: 48 + metres / 111_195.0797, longitude: 16, accuracy: accuracy, speed: speed)
  }

  mutating func take(_ event: FenceMachine.Event, at seconds: Double? = nil) {
    take(event, on: seconds.map { .seconds($0) } ?? now)
  }

  mutating func take(_ event: FenceMachine.Event, on instant: Duration) {
    now = instant
    for action in machine.handle(event, at: now) {
      actions.append(action)
      switch action {
      case .add(let fence): stored[fence.number] = (fence, sessions.count - 1)
      case .update(let fence): stored[fence.number]?.fence = fence
      case .remove(let number): stored[number] = nil
      case .assign(let uuid): sessions[sessions.count - 1] = uuid
      case .begin(let uuid): sessions.append(uuid)
      case .finalise, .giveUp: break
      }
    }
  }

  /// Passes a location so many metres north of the beginning.
  mutating func walk(to metres: Double, at seconds: Double, accuracy: Double? = 5, speed: Double? = nil) {
    guard let place = Self.place(metres, accuracy: accuracy, speed: speed) else { return }
    take(.location(place), at: seconds)
  }

  /// Passes a ping that was due at an instant and is completed now.
  mutating func ping(due: Double, _ milliseconds: Double?, at seconds: Double? = nil) {
    let ping = PingResult(at: .seconds(due), roundTrip: milliseconds.map { .microseconds(Int($0 * 1000)) })
    take(.ping(ping), at: seconds ?? due)
  }

  var fences: [Fence] { stored.sorted { $0.key < $1.key }.map(\.value.fence) }
  /// The identifiers of the sessions that the stored fences are in.
  var owners: [String?] { stored.sorted { $0.key < $1.key }.map { sessions[$0.value.session] } }
}
