import DeterministicTesting
import SystemTesting
import Testing

@testable import BackgroundTasks

/// The five rules of ``SchedulerMachine``, after random events.
@Suite("The rules of the scheduler", .computing) struct SchedulerPropertyTests {
  private static let registered: [String: BackgroundTaskRequest.Kind] = [
    "a": .refresh, "b": .processing, "c": .refresh,
  ]

  /// A machine and the actions that it has returned so far.
  private struct World {
    var machine = SchedulerMachine(registered: registered)
    var now = Duration.zero
    /// The runs whose handlers have not finished.
    var alive: [Int: String] = [:]
    var records: [Int: Int] = [:]
    var begun = 0

    mutating func take(_ event: SchedulerMachine.Event) throws {
      let before = machine
      let actions: [SchedulerMachine.Action]
      do {
        actions = try machine.handle(event, at: now)
      } catch {
        #expect(machine == before, "what is refused changes nothing: \(error)")
        return
      }
      for action in actions {
        switch action {
        case .begin(let run):
          begun += 1
          #expect(run.number == begun)
          #expect(!alive.values.contains(run.request.identifier), "never twice at once")
          #expect(run.isByHand || machine.obstacle(to: run.request) == nil)
          #expect(!machine.conditions.isGoingToSleep, "nothing keeps the machine awake")
          if case .submit = event {
            // The new request may have replaced one that was not due.
          } else {
            #expect(run.isByHand || before.pending[run.request.identifier].map { $0.due <= now } != false)
          }
          alive[run.number] = run.request.identifier
        case .expire(let number, _): #expect(alive[number] != nil)
        case .record(let run, _): records[run.number, default: 0] += 1
        }
      }
      // Of everything that began, one has the turn or none; all others were recorded, once.
      for number in 1...max(begun, 1) where number <= begun {
        #expect(records[number, default: 0] == (machine.current?.number == number ? 0 : 1), "run \(number)")
      }
      #expect(Set(machine.overdue.values).isSubset(of: Set(alive.keys)))
      if machine.current != nil { #expect(machine.wake != nil, "it never waits for ever") }
    }
  }

  @Test("The five rules hold after any events", arguments: [UInt64](1...400)) func theRulesHold(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var world = World()
    for _ in 0..<150 {
      world.now += .milliseconds(Int.random(in: 0...20_000, using: &random))
      if let event = Self.event(&world, &random) { try world.take(event) }
    }
    // Every run finishes at last, and every request that may run does.
    try world.take(.launch)
    try world.take(.conditions(.init(isInBackground: true, hasNetwork: true, onExternalPower: true)))
    for _ in 0..<40 {
      for run in world.alive.keys.sorted() {
        world.alive[run] = nil
        try world.take(.ended(run, .completed))
      }
      guard let wake = world.machine.wake else { break }
      world.now = max(world.now, wake)
      try world.take(.timePassed)
    }
    #expect(world.machine.pending.isEmpty)
    #expect(world.machine.current == nil)
    #expect(world.alive.isEmpty)
  }

  /// Returns a random event; `nil` if the chosen kind needs a run and there is none.
  private static func event(_ world: inout World, _ random: inout SeededGenerator) -> SchedulerMachine.Event? {
    let identifier = ["a", "b", "c", "nonsense"].randomElement(using: &random) ?? "a"
    func coin() -> Bool { Bool.random(using: &random) }
    switch Int.random(in: 0..<12, using: &random) {
    case 0...3:
      return .submit(
        .init(
          identifier, registered[identifier] ?? .refresh, delay: .seconds(Int.random(in: 0...40, using: &random)),
          requiresNetwork: coin(), requiresExternalPower: coin()))
    case 4, 5:
      return .conditions(
        .init(
          isInBackground: coin(), isGoingToSleep: coin() && coin(), hasNetwork: coin(), onExternalPower: coin()))
    case 6, 7:
      guard let run = world.alive.keys.sorted().randomElement(using: &random) else { return nil }
      world.alive[run] = nil
      return .ended(run, coin() ? .completed : .failed(""))
    case 8: return .cancel(identifier)
    case 9: return coin() ? .runNow(identifier) : .expireNow(identifier)
    case 10: return .launch
    default:
      if let wake = world.machine.wake { world.now = max(world.now, wake) }
      return .timePassed
    }
  }
}
