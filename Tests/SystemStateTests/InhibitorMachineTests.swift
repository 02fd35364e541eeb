import DeterministicTesting
import Testing

@testable import SystemState

@Suite struct InhibitorMachineTests {
  private func machine(_ events: InhibitorMachine.Event...) -> InhibitorMachine {
    var machine = InhibitorMachine()
    for event in events { machine.handle(event) }
    return machine
  }

  @Test func takenWithTheFirstAndLetGoWithTheLast() {
    let taken = machine(.begin, .begin, .granted(by: ":1.1"))
    #expect(taken.state == .held && taken.isNeeded && !taken.isToBeTaken(from: ":1.1"))
    #expect(machine(.begin, .begin, .granted(by: ":1.1"), .end).state == .held)
    let released = machine(.begin, .begin, .granted(by: ":1.1"), .end, .end)
    #expect(released.state == .released && !released.isNeeded && !released.isToBeTaken(from: ":1.1"))
    // Granted when nobody needs it any more.
    #expect(!machine(.begin, .end, .granted(by: ":1.1")).isNeeded)
    // What was granted for one use is no longer there for the next.
    #expect(machine(.begin, .granted(by: ":1.1"), .end, .begin).isToBeTaken(from: ":1.1"))
  }

  @Test func askedForAgain() {
    #expect(machine(.begin, .granted(by: ":1.1")).isToBeTaken(from: ":1.2"))
    let gone = machine(.begin, .granted(by: ":1.1"), .logindGone)
    #expect(gone.state == .waiting && gone.isNeeded && gone.isToBeTaken(from: ":1.1"))
    let refused = machine(.begin, .refused(because: "no"))
    #expect(refused.state == .refused("no") && refused.isToBeTaken(from: ":1.1"))
    #expect(machine(.begin, .refused(because: "no"), .granted(by: ":1.1")).state == .held)
    #expect(machine(.begin, .refused(because: "no"), .end, .begin).state == .waiting)
  }

  @Test func closedForGood() {
    let closed = machine(.begin, .granted(by: ":1.1"), .close, .begin, .end, .granted(by: ":1.1"))
    #expect(closed.state == .released && !closed.isNeeded && closed.uses == 0)
  }

  /// Whatever happens, the inhibitor is needed exactly while there are uses.
  @Test func uses() {
    var generator = SeededGenerator(seed: 4)
    var (machine, uses) = (InhibitorMachine(), 0)
    for _ in 0..<10_000 {
      switch Int.random(in: 0..<6, using: &generator) {
      case 0...1:
        uses += 1
        machine.handle(.begin)
      case 2:
        guard uses > 0 else { continue }
        uses -= 1
        machine.handle(.end)
      case 3: machine.handle(.granted(by: ":1.\(Int.random(in: 1...2, using: &generator))"))
      case 4: machine.handle(.refused(because: "no"))
      default: machine.handle(.logindGone)
      }
      #expect(machine.isNeeded == (uses > 0) && machine.uses == uses)
      #expect((machine.state == .released) == (uses == 0))
      if machine.state == .held { #expect([":1.1", ":1.2"].count { machine.isToBeTaken(from: $0) } == 1) }
    }
  }
}
