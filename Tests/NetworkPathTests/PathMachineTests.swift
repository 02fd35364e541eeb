import Testing

@testable import NetworkPath

@Suite struct PathMachineTests {
  private let start = ContinuousClock.now

  private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

  private func started() -> Held<PathMachine> {
    let machine = Held(PathMachine(settleDown: .milliseconds(150), settleUp: .milliseconds(500)))
    #expect(machine { $0.takeUpdate(at: start) } == nil)
    #expect(machine.value.dumpIsDue(at: start))
    machine.value.handleDump(Say.wired, at: start)
    #expect(machine { $0.takeUpdate(at: start) } == PathUpdate(number: 1, path: Say.path(Say.wired)))
    return machine
  }

  @Test func anUpdateHasItsReasons() throws {
    let machine = started()
    machine.value.handle([Say.link(2, "eth0", isUp: false)], at: at(1000))
    #expect(machine.value.deadline == at(1000))
    #expect(machine.value.dumpIsDue(at: at(1000)))
    machine.value.handleDump([Say.lo, Say.link(2, "eth0", isUp: false)], at: at(1001))
    #expect(machine.value.deadline == at(1150))
    let update = try #require(machine { $0.takeUpdate(at: at(1150)) })
    #expect(update.number == 2)
    #expect(
      update.changes.map(\.description) == [
        "lo has lost the address 127.0.0.1", "eth0 was switched off", "eth0 has lost the address 192.0.2.2",
        "IPv4 has lost its default route via 192.0.2.1 on eth0", "traffic has no way to take", "there is no way out",
      ])
    #expect(machine.value.deadline == nil)
  }

  @Test func dumpsKeepTheirDistance() {
    let machine = started()
    machine.value.handle([Say.link(2, "eth0", state: 2)], at: at(20))
    #expect(!machine.value.dumpIsDue(at: at(99)))
    #expect(machine.value.dumpIsDue(at: at(100)))
    machine.value.handle([Say.link(2, "eth0")], at: at(90))
    machine.value.handleDump(Say.wired, at: at(100))
    #expect(!machine.value.dumpIsDue(at: at(10_000)))
  }

  @Test func afterALossNothingIsToldBeforeTheDump() {
    let machine = started()
    machine.value.handleOverrun(at: at(1000))
    machine.value.handle([Say.routes(Say.route(2, via: "192.0.2.9"), replaces: true)], at: at(1001))
    #expect(machine { $0.takeUpdate(at: at(5000)) } == nil)
    #expect(machine.value.dumpIsDue(at: at(1001)))
    machine.value.handleFailedDump(at: at(1002))
    #expect(!machine.value.dumpIsDue(at: at(2001)))
    #expect(machine.value.deadline == at(2002))
    machine.value.handleDump(Say.wired, at: at(2002))
    #expect(machine { $0.takeUpdate(at: at(5000)) } == nil)
    machine.value.update(at: at(5000)) { $0.dnsServers = [IPAddress("192.0.2.53")!] }
    #expect(machine { $0.takeUpdate(at: at(5150)) }?.changes.map(\.description) == ["name servers: 192.0.2.53"])
  }

  @Test func aProbesAnswerIsForTheWayItWasAskedAbout() {
    let machine = started()
    let first = machine.value.wayOut
    machine.value.handleProbe(.portal, about: first, at: at(100))
    #expect(machine { $0.takeUpdate(at: at(250)) }?.path.status == .requiresConnection)
    machine.value.handle([Say.routes(Say.route(2, via: "192.0.2.9"), replaces: true)], at: at(1000))
    #expect(machine.value.wayOut != first)
    #expect(machine.value.surroundings.reachability == nil)
    machine.value.handleProbe(.unreachable, about: first, at: at(1001))
    #expect(machine { $0.takeUpdate(at: at(1500)) }?.path.status == .satisfied)
    machine.value.handle([Say.link(2, "eth0", isUp: false)], at: at(2000))
    #expect(!machine.value.hasWayOut)
    machine.value.handleProbe(.reachable, about: machine.value.wayOut, at: at(2001))
    #expect(machine.value.surroundings.reachability == nil)
  }
}
