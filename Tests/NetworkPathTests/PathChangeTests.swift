import Testing

@testable import NetworkPath

@Suite("Changes between two paths") struct PathChangeTests {
  private func changes(from old: [RouteMessage], to new: [RouteMessage]) -> [String] {
    Say.path(new).changes(since: Say.path(old)).map(\.description)
  }

  @Test("Equal paths have no changes") func nothingChanged() {
    #expect(changes(from: Say.wired, to: Say.wired) == [])
  }

  @Test("A renamed interface is one change") func aNewName() {
    #expect(changes(from: Say.wired, to: Say.wired + [Say.link(2, "uplink")]) == ["eth0 was renamed to uplink"])
  }

  @Test("A change of the link state is described by its kind") func carrierAndAdmission() {
    let cases: [(UInt8, String)] = [(2, "eth0 has lost its carrier"), (5, "eth0 waits for authentication")]
    for (state, text) in cases {
      #expect(changes(from: Say.wired, to: Say.wired + [Say.link(2, "eth0", state: state)]).first == text)
    }
    let off = [Say.lo, Say.link(2, "eth0", isUp: false)]
    #expect(
      changes(from: off, to: [Say.lo, Say.link(2, "eth0", state: 2)]) == [
        "eth0 was switched on and has no carrier"
      ])
    #expect(changes(from: off, to: [Say.lo, Say.link(2, "eth0")]) == ["eth0 is up"])
  }

  @Test("A second uplink, and the loss of the first, are described in order") func anUplinkMore() {
    let more =
      Say.wired + [
        Say.link(3, "wwan0", device: .init(type: "wwan")), Say.address(3, "198.51.100.2"),
        Say.routes(Say.route(3, metric: 700)),
      ]
    #expect(
      changes(from: Say.wired, to: more) == [
        "wwan0 was added", "wwan0 has the address 198.51.100.2", "IPv4 has a default route on wwan0",
      ])
    var tables = PathTables(more)
    tables.apply(.linkGone(index: 2))
    #expect(
      tables.snapshot().changes(since: Say.path(more)).map(\.description) == [
        "eth0 was removed", "IPv4 has lost its default route via 192.0.2.1 on eth0",
        "traffic uses wwan0 instead of eth0", "traffic is expensive",
      ])
  }

  @Test("Name servers, hints, probe results and the status are described") func whatComesFromElsewhere() {
    let plain = Say.path(Say.wired)
    let server = IPAddress("2001:db8::53")!
    let known = Say.path(Say.wired, PathSurroundings(dnsServers: [server], metered: .yes, reachability: .portal))
    #expect(
      known.changes(since: plain).map(\.description) == [
        "name servers: 2001:db8::53", "probe result: portal", "traffic is expensive and constrained",
        "the network requires a connection first",
      ])
    #expect(
      plain.changes(since: known).map(\.description) == [
        "no name server is configured", "no probe result yet", "traffic is not expensive", "the network is available",
      ])
  }
}
