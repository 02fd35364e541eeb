import DeterministicTesting
import Testing

@testable import SystemState

@Suite("The state machine of the inhibitor") struct InhibitorMachineTests {
  private func machine(_ events: InhibitorMachine.Event...) -> InhibitorMachine {
    var machine = InhibitorMachine()
    for event in events { _ = machine.handle(event) }
    return machine
  }

  /// The actions of the last event.
  private func actions(_ events: InhibitorMachine.Event...) -> [InhibitorMachine.Action] {
    var machine = InhibitorMachine()
    return events.map { machine.handle($0) }.last ?? []
  }

  @Test("The first use publishes that the inhibitor is needed, and the last one releases it")
  func takenWithTheFirstAndReleasedWithTheLast() {
    #expect(actions(.begin) == [.publish(.waiting)])
    #expect(actions(.begin, .begin) == [])
    #expect(actions(.begin, .begin, .logindFound(":1.1")) == [.request(from: ":1.1")])
    #expect(actions(.begin, .begin, .granted(by: ":1.1")) == [.keep, .publish(.held)])
    #expect(actions(.begin, .begin, .granted(by: ":1.1"), .end) == [])
    #expect(actions(.begin, .begin, .granted(by: ":1.1"), .end, .end) == [.release, .publish(.released)])
  }

  @Test("An inhibitor that is granted after the last use is released at once")
  func grantedTooLate() {
    #expect(actions(.begin, .end, .granted(by: ":1.1")) == [.release])
    #expect(actions(.begin, .close, .granted(by: ":1.1")) == [.release])
  }

  @Test("The inhibitor of one use is requested again for the next")
  func requestedForEachPeriodOfUse() {
    #expect(
      actions(.begin, .granted(by: ":1.1"), .end, .begin, .logindFound(":1.1")) == [.request(from: ":1.1")])
    #expect(machine(.begin, .refused(because: "no"), .end, .begin).state == .waiting)
  }

  @Test("Only a logind that has not granted the inhibitor is asked for it")
  func askedAgain() {
    #expect(actions(.begin, .granted(by: ":1.1"), .logindFound(":1.1")) == [])
    #expect(actions(.begin, .granted(by: ":1.1"), .logindFound(":1.2")) == [.request(from: ":1.2")])
    #expect(actions(.begin, .granted(by: ":1.1"), .logindGone) == [.publish(.waiting)])
    #expect(actions(.begin, .granted(by: ":1.1"), .logindGone, .logindFound(":1.1")) == [.request(from: ":1.1")])
    #expect(actions(.logindFound(":1.1")) == [])
  }

  @Test("A refusal is published with its reason, and asked again")
  func refused() {
    #expect(actions(.begin, .refused(because: "no")) == [.publish(.refused("no"))])
    #expect(actions(.begin, .refused(because: "no"), .logindFound(":1.1")) == [.request(from: ":1.1")])
    #expect(actions(.begin, .refused(because: "no"), .granted(by: ":1.1")) == [.keep, .publish(.held)])
  }

  @Test("A closed activity ignores every event")
  func closedForGood() {
    #expect(actions(.begin, .granted(by: ":1.1"), .close) == [.release, .publish(.released)])
    #expect(machine(.begin, .granted(by: ":1.1"), .close, .begin, .end, .granted(by: ":1.1")) == .closed)
    #expect(actions(.close, .begin) == [])
  }

  @Test("Whatever happens, the inhibitor is needed exactly while there are uses")
  func uses() {
    var generator = SeededGenerator(seed: 4)
    var machine = InhibitorMachine()
    var uses = 0
    for _ in 0..<10_000 {
      switch Int.random(in: 0..<6, using: &generator) {
      case 0...1:
        uses += 1
        _ = machine.handle(.begin)
      case 2:
        guard uses > 0 else { continue }
        uses -= 1
        _ = machine.handle(.end)
      case 3: _ = machine.handle(.granted(by: ":1.\(Int.random(in: 1...2, using: &generator))"))
      case 4: _ = machine.handle(.refused(because: "no"))
      default: _ = machine.handle(.logindGone)
      }
      if case .needed(let count, _) = machine { #expect(count == uses) } else { #expect(uses == 0) }
      #expect((machine.state == .released) == (uses == 0))
      if machine.state == .held {
        let grantors = [":1.1", ":1.2"].filter { logind in
          var machine = machine
          return machine.handle(.logindFound(logind)).isEmpty
        }
        #expect(grantors.count == 1)
      }
    }
  }
}
