import Foundation
import Places
import Testing

@testable import SpeedTest

/// A loop under a clock that a test moves by hand.
struct LoopDriver {
  var machine: LoopMachine
  var now: LoopInstant

  /// Noon on a day in UTC.
  static let noon = LoopInstant(wallMs: 1_800_014_400_000, boot: "a", bootMs: 1_000_000)

  init(
    tests: Int = 3, delay: Duration = .seconds(600), movement: Double? = 100, isUnattended: Bool = false,
    nightHours: LoopNightHours? = nil, at now: LoopInstant = noon
  ) throws {
    let plan = try LoopPlan(
      tests: tests, delay: delay, movement: movement, isUnattended: isUnattended, nightHours: nightHours)
    machine = LoopMachine(LoopState(id: UUID(), plan: plan, at: now))
    self.now = now
  }

  var state: LoopState { machine.state }

  mutating func take(_ event: LoopMachine.Event) -> [LoopMachine.Action] { machine.handle(event, at: now) }

  /// Lets time pass on both clocks, and looks.
  mutating func pass(_ seconds: Double) -> [LoopMachine.Action] {
    now.wallMs += Int64((seconds * 1000).rounded())
    now.bootMs += Int64((seconds * 1000).rounded())
    return take(.timePassed)
  }

  /// Launches the loop, with somebody at the machine, and returns what the first test begins with.
  mutating func start() -> [LoopMachine.Action] { take(.launch(stored: nil)) + take(.presence(.present)) }

  /// Replaces the program by another one, which knows what was stored.
  mutating func restart(stored: LoopOutcome? = nil) throws -> [LoopMachine.Action] {
    let file = try LoopStore<String>.encode(.init(state: state, settings: ""))
    machine = LoopMachine(try #require(LoopStore<String>.decode(file)).state)
    return take(.launch(stored: stored))
  }

  /// Returns a location so many metres to the north of a place.
  static func fix(_ metres: Double, error: Double? = 5, age: Duration = .zero) throws -> LoopFix {
    let place = try #require(Place(latitude: 48.2 + metres / 111_195.08, longitude: 16.37))
    return LoopFix(place: place, error: error, age: age)
  }
}

extension [LoopMachine.Action] {
  var begun: LoopTest? {
    for case .begin(let test) in self { return test }
    return nil
  }

  var notice: LoopNotice? {
    for case .notify(let notice) in self { return notice }
    return nil
  }
}
