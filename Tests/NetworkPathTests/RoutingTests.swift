import Testing

@testable import NetworkPath

/// The kernel chooses the way of a packet by rules and all its tables; VPNs use them all.
@Suite(
  "The kernel's choice, in network namespaces",
  .enabled(if: Namespace.isPermitted, "needs root, or to run under: unshare --user --map-root-user --net"),
  .timeLimit(.minutes(5)))
struct RoutingTests {
  /// A namespace with a cable that leads out, and a second interface for a VPN.
  private func vpn(
    _ more: String = ""
  ) async throws -> (namespace: Namespace, seen: Watcher, monitor: NetworkPathMonitor) {
    let namespace = try await Namespace()
    try await namespace.addCable("up0")
    try await namespace.addCable("vpn0")
    try await namespace.ip(
      """
      addr add 192.0.2.2/24 dev up0
      route add default via 192.0.2.1
      addr add 10.8.0.2/24 dev vpn0
      \(more)
      """)
    let monitor = try await namespace.monitor { options in
      options.settleDown = .milliseconds(1)
      options.settleUp = .milliseconds(1)
    }
    return (namespace, Watcher(monitor), monitor)
  }

  @Test("Two halves of all addresses go before the default route") func twoHalves() async throws {
    let (namespace, seen, monitor) = try await vpn()
    defer { monitor.close() }
    try await seen.until("the cable") { $0.preferredInterface?.name == "up0" }
    try await namespace.ip("route add 0.0.0.0/1 dev vpn0\nroute add 128.0.0.0/1 dev vpn0")
    let path = try await seen.until("the VPN") { $0.preferredInterface?.name == "vpn0" }.path
    #expect(path.gateways.map(\.description) == ["on vpn0", "via 192.0.2.1 on up0"])
    try await namespace.ip("link set vpn0 down")
    try await seen.until("the cable again") { $0.preferredInterface?.name == "up0" && $0.gateways.count == 1 }
  }

  @Test("Two halves without a default route are a path, and one half is none") func halvesAlone() async throws {
    let (namespace, seen, monitor) = try await vpn("route del default")
    defer { monitor.close() }
    try await seen.until("no way") { $0.unsatisfiedReason == .noDefaultRoute }
    try await namespace.ip("route add 0.0.0.0/1 dev vpn0")
    try await namespace.ip("route add 128.0.0.0/1 dev vpn0")
    let path = try await seen.until("both halves") { $0.status == .satisfied }.path
    #expect(path.gateways.map(\.description) == ["on vpn0"])
    try await namespace.ip("route del 128.0.0.0/1")
    try await seen.until("one half") { $0.status == .unsatisfied }
  }

  @Test("A default route of another table counts while a rule leads to it") func anotherTable() async throws {
    let (namespace, seen, monitor) = try await vpn("route add default dev vpn0 table 51820")
    defer { monitor.close() }
    try await seen.until("the cable") { $0.preferredInterface?.name == "up0" }
    // As wg-quick does it.
    try await namespace.ip(
      "rule add not fwmark 51820 table 51820\nrule add table main suppress_prefixlength 0")
    try await seen.until("the VPN") { $0.preferredInterface?.name == "vpn0" }
    try await namespace.ip("rule del not fwmark 51820 table 51820")
    try await seen.until("the cable again") { $0.preferredInterface?.name == "up0" }
  }

  @Test("A rule that refuses all packets leaves no path") func aRuleThatRefuses() async throws {
    let (namespace, seen, monitor) = try await vpn()
    defer { monitor.close() }
    try await seen.until("the cable") { $0.status == .satisfied }
    try await namespace.ip("rule add pref 100 unreachable")
    let path = try await seen.until("no way") { $0.status == .unsatisfied }.path
    #expect(path.unsatisfiedReason == .unusableDefaultRoute)
    try await namespace.ip("rule del pref 100")
    try await seen.until("the cable again") { $0.status == .satisfied }
  }

  @Test("Rules and wide routes of IPv6 count as well") func sixth() async throws {
    let (namespace, seen, monitor) = try await vpn("addr add 2001:db8::2/64 dev vpn0 nodad")
    defer { monitor.close() }
    try await seen.until("IPv4 alone") { $0.supportsIPv4 && !$0.supportsIPv6 }
    try await namespace.ip("route add 2000::/3 dev vpn0")
    try await seen.until("both") { $0.supportsIPv6 }
    try await rule("add", in: namespace)
    try await seen.until("refused") { !$0.supportsIPv6 && $0.supportsIPv4 }
    try await rule("del", in: namespace)
    try await seen.until("both again") { $0.supportsIPv6 }
  }

  /// A file of commands has one family only.
  private func rule(_ verb: String, in namespace: Namespace) async throws {
    let result = try await namespace.inside {
      try run("/usr/bin/env", ["ip", "-6", "rule", verb, "pref", "100", "prohibit"])
    }
    #expect(result.status == 0, "\(result.output)")
  }
}

@Suite("The kernel's choice and the path that follows from it") struct RouteChoiceTests {
  private static let tunnel: [RouteMessage] = [
    Say.link(3, "wg0", state: 0, hardware: 0xfffe), Say.address(3, "10.8.0.2"),
  ]

  private func path(_ messages: [RouteMessage], _ choice: RouteChoice) -> PathSnapshot {
    var surroundings = PathSurroundings()
    surroundings.choices = [.v4: choice]
    return Say.path(messages, surroundings)
  }

  @Test("The kernel's choice goes before the default routes of the main table") func choice() {
    let chosen = path(Say.wired + Self.tunnel, .hop(Say.route(3), source: IPAddress("10.8.0.2")))
    #expect(chosen.gateways.map(\.interface) == ["wg0", "eth0"])
    #expect(chosen.preferredInterface?.kind == .tunnel)
    #expect(path(Say.wired, .refused).unsatisfiedReason == .unusableDefaultRoute)
  }

  @Test("A tunnel is no path without an interface that carries it") func aTunnelAlone() {
    let hop = RouteChoice.hop(Say.route(3), source: IPAddress("10.8.0.2"))
    let cut = Say.wired.map { message in
      if case .link(let link) = message, link.name == "eth0" { Say.link(2, "eth0", state: 2) } else { message }
    }
    #expect(path(cut + Self.tunnel, hop).status == .unsatisfied)
    // In a namespace that has nothing else, the tunnel's own packets leave elsewhere.
    #expect(path([Say.lo] + Self.tunnel, hop).status == .satisfied)
  }

  @Test("The traffic of a tunnel costs what its carrier costs") func cost() {
    let modem: [RouteMessage] = [
      Say.lo, Say.link(2, "wwan0", hardware: 519), Say.address(2, "192.0.2.2"), Say.routes(Say.route(2)),
    ]
    #expect(path(modem + Self.tunnel, .hop(Say.route(3), source: nil)).isExpensive)
    #expect(!path(Say.wired + Self.tunnel, .hop(Say.route(3), source: nil)).isExpensive)
  }
}
