import Testing

@testable import Agent

@Suite("The loss of the network that the mode follows") struct NetworkGateTests {
  private typealias Event = NetworkGate.Event

  /// The gate after events at instants in seconds, and what it did.
  private func after(_ events: [(Double, Event)]) -> (gate: NetworkGate, actions: [NetworkGate.Action]) {
    var gate = NetworkGate(NetworkDelays())
    var actions: [NetworkGate.Action] = []
    for (instant, event) in events {
      // What was due before happens first, as a timer has it.
      while let due = gate.wakeAt, due <= .seconds(instant) { actions += gate.handle(.tick, at: due) }
      actions += gate.handle(event, at: .seconds(instant))
    }
    return (gate, actions)
  }

  private static let lost = NetworkGate.Action.lost(because: "no carrier")
  private static let loss = NetworkGate.Event.lost(because: "no carrier")

  @Test("A loss counts after 5 s, and an interruption of a moment never") func momentsDoNotCount() {
    let moment = after([(0, .start), (1, .found), (100, Self.loss), (104.9, .found), (200, .tick)])
    #expect(Set(moment.actions) == [.found])
    #expect(moment.gate.wakeAt == nil)
    let loss = after([(0, .start), (1, .found), (100, Self.loss), (104.9, .tick)])
    #expect(loss.actions == [.found])
    #expect(loss.gate.wakeAt == .seconds(105))
    #expect(after([(0, .start), (1, .found), (100, Self.loss), (105, .tick)]).actions == [.found, Self.lost])
    // Another reason is not another loss.
    let reason = after([(0, .start), (100, .lost(because: "no route")), (103, Self.loss), (105, .tick)])
    #expect(reason.actions == [Self.lost])
  }

  @Test("A network that is not up yet at boot is no loss for a minute") func bootsAreWaitedFor() {
    #expect(after([(-1, Self.loss), (0, .start), (59.9, .found)]).actions == [.found])
    #expect(after([(-1, Self.loss), (0, .start), (60, .tick)]).actions == [Self.lost])
    #expect(after([(0, .start), (50, Self.loss), (59.9, .tick)]).actions == [])
  }

  @Test("Before a sleep and for 30 s after it no loss counts") func sleepsAreWaitedFor() {
    let start: [(Double, Event)] = [(0, .start), (1, .found)]
    // The network manager takes the link down before the host sleeps.
    let asleep = after(start + [(100, Self.loss), (101, .sleep), (5000, .tick)])
    #expect(asleep.actions == [.found])
    #expect(asleep.gate.wakeAt == nil)
    let back = after(start + [(100, Self.loss), (101, .sleep), (5000, .wake), (5029, .found)])
    #expect(Set(back.actions) == [.found])
    let away = after(start + [(100, .sleep), (5000, .wake), (5001, Self.loss), (5030, .tick)])
    #expect(away.actions == [.found, Self.lost])
  }

  /// A host without logind, or a process that was stopped.
  @Test("A timer that is late by more than 10 s counts as a sleep") func unannouncedSleepsAreWaitedFor() {
    var gate = after([(0, .start), (1, .found), (100, Self.loss)]).gate
    #expect(gate.handle(.tick, at: .seconds(4000)) == [])
    #expect(gate.wakeAt == .seconds(4030))
    var late = gate
    #expect(late.handle(.tick, at: .seconds(4030)) == [Self.lost])
    #expect(gate.handle(.found, at: .seconds(4020)) == [.found])
  }

  @Test("A runner changes the mode when the loss has lasted") func runnersWait() async throws {
    let fixture = Fixture(ModeRecord(mode: .on), hasDelays: true)
    await fixture.runner.take(Fixture.wired)
    try await fixture.running { fixture in
      await fixture.works(.heartbeat)
      fixture.clock.advance(by: .seconds(100))
      await fixture.runner.take(Fixture.lost)
      #expect(fixture.status.mode == .on)
      #expect(fixture.status.network?.status == .unsatisfied)
      await fixture.clock.waitForSleeper(until: .seconds(105))
      fixture.clock.advance(by: .seconds(5))
      await fixture.until { $0.mode == .bluetoothLocal }
      #expect(fixture.status.chosenMode == .on)
    }
  }
}

@Suite("What becomes of On without a network") struct LostModeTests {
  private static let lost = ModeMachine.Event.networkLost(because: "no carrier")

  private func machine(_ returns: ReturnToOn, after events: [ModeMachine.Event]) -> ModeMachine {
    var machine = ModeMachine(ModeRecord(mode: .on, runOnlyWhileCharging: false), returnToOn: returns)
    for event in events { _ = machine.handle(event) }
    return machine
  }

  @Test("Without a Bluetooth adapter On stays, and waits for the network") func onStaysWithoutBluetooth() {
    var machine = machine(.never, after: [.start, .bluetooth(isAvailable: false), .started(.heartbeat)])
    #expect(machine.handle(Self.lost) == [.log(.blocked(.noNetwork)), .stop(.heartbeat)])
    _ = machine.handle(.ended(.heartbeat, because: nil))
    #expect(machine.record == ModeRecord(mode: .on))
    #expect(machine.runState == .blocked(.noNetwork))
    #expect("\(machine.runState)".contains("waiting for the network"))
    // An adapter is plugged in: there is something to change to.
    var plugged = machine
    #expect(
      plugged.handle(.bluetooth(isAvailable: true)) == [
        .persist(ModeRecord(mode: .bluetoothLocal, cause: .networkLoss)), .log(.downgraded(because: "no carrier")),
        .log(.unblocked), .start(.phone),
      ])
    #expect(machine.handle(.networkFound) == [.log(.unblocked), .start(.heartbeat)])
  }

  @Test("The chosen mode is kept beside the one that is in force") func bothModesAreKept() throws {
    let lost = machine(.never, after: [.start, Self.lost])
    #expect(lost.record.mode == .bluetoothLocal)
    #expect(lost.record.chosenMode == .on)
    for mode in ComputeMode.allCases { #expect(ModeRecord(mode: mode).chosenMode == mode) }
  }

  @Test("When the network is back, the mode is On again only if the setting says so", arguments: ReturnToOn.allCases)
  func returnsWhenBack(setting: ReturnToOn) {
    var machine = machine(setting, after: [.start, Self.lost, .ended(.heartbeat, because: nil), .started(.phone)])
    let actions = machine.handle(.networkFound)
    if setting == .whenBack {
      #expect(actions == [.persist(ModeRecord(mode: .on)), .log(.returned), .stop(.phone)])
    } else {
      #expect(actions == [.log(.networkReturned), .notify(.networkReturned)])
    }
    #expect(machine.record.mode == (setting == .whenBack ? .on : .bluetoothLocal))
  }

  @Test("After a restart the mode is On again only if the setting says so", arguments: ReturnToOn.allCases)
  func returnsAfterARestart(setting: ReturnToOn) {
    let record = ModeRecord(mode: .bluetoothLocal, cause: .networkLoss, runOnlyWhileCharging: true)
    var machine = ModeMachine(record, returnToOn: setting)
    let actions = machine.handle(.start)
    let back = ModeRecord(mode: .on, runOnlyWhileCharging: true)
    #expect(machine.record == (setting == .afterRestart ? back : record))
    #expect(actions.contains(.persist(back)) == (setting == .afterRestart))
    #expect(actions.contains(.log(.returned)) == (setting == .afterRestart))
    // One that a user has chosen stays.
    var chosen = ModeMachine(ModeRecord(mode: .bluetoothLocal), returnToOn: setting)
    _ = chosen.handle(.start)
    _ = chosen.handle(.networkFound)
    #expect(chosen.record == ModeRecord(mode: .bluetoothLocal))
  }
}
