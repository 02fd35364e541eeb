import Testing

@testable import NetworkPath

@Suite("The state machine of the network path") struct PathMachineTests {
  private let start = ContinuousClock.now

  private func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

  /// A state machine that has published the path of a wired host.
  private func started() -> Held<PathMachine> {
    let machine = Held(PathMachine(settleDown: .milliseconds(150), settleUp: .milliseconds(500)))
    #expect(machine { $0.handle(.nameServers([]), at: start) } == [.dump])
    #expect(
      machine { $0.handle(.dump(Say.wired), at: start) }
        == [.publish(PathUpdate(number: 1, path: Say.path(Say.wired))), .probe(route: 1)])
    return machine
  }

  private func published(_ actions: [PathMachine.Action]) -> PathUpdate? {
    actions.lazy.compactMap { if case .publish(let update) = $0 { update } else { nil } }.first
  }

  @Test("An update lists its changes, causes before consequences")
  func anUpdateHasItsReasons() throws {
    let machine = started()
    let off = Say.link(2, "eth0", isUp: false)
    #expect(machine { $0.handle(.messages([off]), at: at(1000)) } == [.probe(route: nil), .dump])
    #expect(machine { $0.handle(.dump([Say.lo, off]), at: at(1001)) } == [])
    #expect(machine.value.deadline == at(1150))
    let settled = machine { $0.handle(.timer, at: at(1150)) }
    let update = try #require(published(settled))
    #expect(update.number == 2)
    #expect(
      update.changes.map(\.description) == [
        "lo has lost the address 127.0.0.1", "eth0 was switched off", "eth0 has lost the address 192.0.2.2",
        "IPv4 has lost its default route via 192.0.2.1 on eth0", "no interface has a usable default route",
        "the network is not available",
      ])
    #expect(machine.value.deadline == nil)
  }

  @Test("Changes that come together are one update, also without a settle time")
  func changesThatComeTogetherAreOneUpdate() {
    let machine = Held(PathMachine(settleDown: .zero, settleUp: .zero))
    _ = machine { $0.handle([.nameServers([]), .dump(Say.wired)], at: start) }
    let events: [PathMachine.Event] = [
      .timer, .metered(.yes), .messages([Say.address(2, "192.0.2.77")]), .nameServers([IPAddress("192.0.2.53")!]),
    ]
    let updates = machine { $0.handle(events, at: at(1000)) }.compactMap { published([$0]) }
    #expect(updates.map(\.number) == [2])
    #expect(updates.first?.changes.count == 3)
  }

  @Test("Two dumps are at least 100 ms apart")
  func dumpsKeepTheirDistance() {
    let machine = started()
    #expect(machine { $0.handle(.messages([Say.link(2, "eth0", state: 2)]), at: at(20)) } == [.probe(route: nil)])
    #expect(machine { $0.handle(.timer, at: at(99)) } == [])
    #expect(machine { $0.handle(.timer, at: at(100)) } == [.dump])
    #expect(machine { $0.handle(.dump(Say.wired), at: at(100)) } == [.probe(route: 3)])
    #expect(machine { $0.handle(.timer, at: at(10_000)) } == [])
  }

  @Test("After lost messages nothing is published before a dump succeeds")
  func afterALossNothingIsPublishedBeforeTheDump() {
    let machine = started()
    let route = Say.routes(Say.route(2, via: "192.0.2.9"), replaces: true)
    #expect(machine { $0.handle(.messages([route], areLost: true), at: at(1000)) } == [.dump])
    #expect(machine { $0.handle(.dumpFailed, at: at(1002)) } == [])
    #expect(machine { $0.handle(.timer, at: at(2001)) } == [])
    #expect(machine.value.deadline == at(2002))
    #expect(machine { $0.handle(.timer, at: at(2002)) } == [.dump])
    #expect(machine { $0.handle(.dump(Say.wired), at: at(2002)) } == [])
    #expect(machine { $0.handle(.timer, at: at(5000)) } == [])
    #expect(machine { $0.handle(.nameServers([IPAddress("192.0.2.53")!]), at: at(5000)) } == [])
    let update = published(machine { $0.handle(.timer, at: at(5150)) })
    #expect(update?.changes.map(\.description) == ["name servers: 192.0.2.53"])
  }

  @Test("A probe's result counts only for the route that was probed")
  func aProbesResultIsForItsRoute() {
    let machine = started()
    let first = machine.value.route
    #expect(machine { $0.handle(.probed(.portal, route: first), at: at(100)) } == [])
    #expect(published(machine { $0.handle(.timer, at: at(250)) })?.path.status == .requiresConnection)
    let other = Say.routes(Say.route(2, via: "192.0.2.9"), replaces: true)
    #expect(machine { $0.handle(.messages([other]), at: at(1000)) } == [.probe(route: first + 1), .dump])
    #expect(machine.value.surroundings.reachability == nil)
    #expect(machine { $0.handle(.probed(.unreachable, route: first), at: at(1001)) } == [.dump])
    #expect(machine.value.surroundings.reachability == nil)
  }

  @Test("A result is ignored while no default route is usable")
  func aResultWithoutARoute() {
    let machine = started()
    _ = machine { $0.handle(.messages([Say.link(2, "eth0", isUp: false)]), at: at(2000)) }
    #expect(!machine.value.hasRoute)
    _ = machine { $0.handle(.probed(.reachable, route: $0.route), at: at(2001)) }
    #expect(machine.value.surroundings.reachability == nil)
  }
}
