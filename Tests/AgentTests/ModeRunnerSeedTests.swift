import DeterministicTesting
import Streams
import SystemTesting
import Testing

@testable import Agent

@Suite("The rules of the mode at the runner, in random orders of events", .computing, .timeLimit(.minutes(10)))
struct ModeRunnerSeedTests {
  /// Eight times 125 seeds; one that fails is named, and can be run alone.
  @Test("The rules hold for random sequences of events", arguments: 0..<8) func theRulesHold(share: UInt64) async throws
  {
    for seed in (share * 125)..<((share + 1) * 125) { try await play(seed) }
  }

  private func play(_ seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let restored = ModeRecord(
      mode: ComputeMode.allCases.randomElement(using: &generator) ?? .off,
      runOnlyWhileCharging: Bool.random(using: &generator))
    let fixture = Fixture(restored)
    let history = fixture.runner.statuses(limit: 10_000)
    let rest = generator
    let choicesOfOn = try await fixture.running { fixture in
      var generator = rest
      var choicesOfOn = 0
      for _ in 0..<20 {
        if await step(fixture, &generator) { choicesOfOn += 1 }
        await settle(fixture)
        check(fixture, seed)
      }
      // Whatever was, a person can have it work.
      fixture.floor.fillDisk(false)
      await fixture.runner.setRunOnlyWhileCharging(false)
      await fixture.runner.choose(.bluetoothLocal)
      await fixture.works(.phone)
      #expect(fixture.floor.disk == ModeRecord(mode: .bluetoothLocal), "seed \(seed)")
      return choicesOfOn
    }
    #expect(fixture.floor.active.isEmpty, "seed \(seed)")
    #expect(fixture.floor.mostAtOnce <= 1, "seed \(seed)")
    #expect(fixture.status.runState == .stopped, "seed \(seed)")
    #expect(fixture.status.mode == .bluetoothLocal, "seed \(seed)")
    await checkModes(history, choicesOfOn: choicesOfOn, seed)
  }

  /// Something happens.
  /// - Returns: whether a person chose On.
  private func step(_ fixture: Fixture, _ generator: inout SeededGenerator) async -> Bool {
    switch Int.random(in: 0..<12, using: &generator) {
    case 0...1:
      let mode = ComputeMode.allCases.randomElement(using: &generator) ?? .off
      await fixture.runner.choose(mode)
      return mode == .on
    case 2: await fixture.runner.setRunOnlyWhileCharging(Bool.random(using: &generator))
    case 3...4: await fixture.runner.take(Bool.random(using: &generator) ? Fixture.wired : Fixture.lost)
    case 5: await fixture.runner.take(Fixture.power(Bool.random(using: &generator)))
    case 6: fixture.floor.fillDisk(Bool.random(using: &generator))
    case 7: fixture.clock.advance(by: .seconds(Int.random(in: 1...100, using: &generator)))
    case 8...9:
      if let service = fixture.floor.active.first {
        fixture.fake(service).order(.work)
        await fixture.until { $0.runState != .starting }
      }
    default:
      if let service = fixture.floor.active.first {
        let failures = fixture.status.counters.failures
        fixture.fake(service).order(Bool.random(using: &generator) ? .fail("broken") : .end)
        await fixture.until { $0.counters.failures > failures }
      }
    }
    return false
  }

  /// Waits until nothing goes on by itself.
  private func settle(_ fixture: Fixture) async {
    await fixture.floor.until {
      switch fixture.status.runState {
      case .stopping: false
      case .starting, .running: fixture.floor.active.count == 1
      case .stopped, .blocked, .failed: fixture.floor.active.isEmpty
      }
    }
  }

  private func check(_ fixture: Fixture, _ seed: UInt64) {
    let status = fixture.status
    let floor = fixture.floor
    let wanted: [ComputeMode: ComputeService] = [.on: .heartbeat, .bluetoothLocal: .phone]
    #expect(floor.active.isEmpty || floor.active == [wanted[status.mode]], "seed \(seed)")
    if status.runState == .running { #expect(Array(floor.ready) == floor.active, "seed \(seed)") }
    if status.runOnlyWhileCharging, status.power?.onExternalPower != true {
      #expect(floor.active.isEmpty, "seed \(seed)")
    }
    if status.network?.status == .unsatisfied { #expect(status.mode != .on, "seed \(seed)") }
    // What is on disk is the mode, or the person is told.
    if floor.disk.mode != status.mode { #expect(status.storageProblem != nil, "seed \(seed)") }
    #expect(floor.mostAtOnce <= 1, "seed \(seed)")
  }

  /// Only a person goes to On, and the only other way is from On to Bluetooth Local.
  private func checkModes(_ history: BoundedStream<AgentStatus>, choicesOfOn: Int, _ seed: UInt64) async {
    var last: AgentStatus?
    var timesOn = 0
    for await status in history {
      if status.mode == .on, last?.mode != .on, last != nil { timesOn += 1 }
      if let last, status.cause == .networkLoss, last.cause != .networkLoss {
        #expect(status.mode == .bluetoothLocal, "seed \(seed)")
        #expect(status.counters.downgrades > last.counters.downgrades, "seed \(seed)")
      }
      last = status
    }
    #expect(timesOn <= choicesOfOn, "seed \(seed)")
  }
}
