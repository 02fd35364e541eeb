import Testing

@testable import NetworkPath
@testable import NetworkPathNetworkManager

@Suite("The kernel's tables and the path that follows from them") struct PathTablesTests {
  @Test("A host with a cable, an address and a default route is online") func aWiredMachine() throws {
    let path = Say.path(Say.wired)
    #expect(path.status == .satisfied)
    #expect(path.unsatisfiedReason == nil)
    #expect(path.supportsIPv4)
    #expect(!path.supportsIPv6)
    #expect(!path.supportsDNS)
    #expect(path.preferredInterface?.name == "eth0")
    #expect(path.gateways.map(\.description) == ["via 192.0.2.1 on eth0"])
    #expect(path.interfaces.map(\.name) == ["eth0", "lo"])
    #expect(path.interfaces[0].addresses == [IPAddress("192.0.2.2")])
    #expect(path.uses(.ethernet))
    #expect(!path.uses(.loopback))
  }

  /// Each step takes one thing away that was there before, or adds the next one that is missing.
  @Test("Each missing condition has its own reason") func whatIsMissingHasAName() {
    let cases: [(PathUnsatisfiedReason?, [RouteMessage])] = [
      (.noInterface, []), (.noInterface, [Say.lo]),
      (.interfacesDown, [Say.lo, Say.link(2, "eth0", isUp: false)]),
      (.noCarrier, [Say.lo, Say.link(2, "eth0", state: 2), Say.link(3, "eth1", isUp: false)]),
      (.waiting(interface: "eth0"), [Say.lo, Say.link(2, "eth0", state: 5)]),
      (.noAddress, [Say.lo, Say.link(2, "eth0"), Say.address(2, "fe80::1", scope: 253)]),
      (.noAddress, [Say.lo, Say.link(2, "eth0"), Say.address(2, "169.254.7.7")]),
      (.noDefaultRoute, [Say.lo, Say.link(2, "eth0"), Say.address(2, "192.0.2.2")]),
      (.unusableDefaultRoute, [Say.lo, Say.link(2, "eth0"), Say.routes(Say.route(2, via: "192.0.2.1"))]),
      (nil, Say.wired),
    ]
    for (reason, messages) in cases {
      let path = Say.path(messages)
      #expect(path.unsatisfiedReason == reason)
      #expect((path.status == .satisfied) == (reason == nil))
      #expect(path.isExpensive == false)
    }
    #expect(Say.path(cases[4].1).status == .requiresConnection)
    #expect(Say.path(cases[5].1).status == .unsatisfied)
  }

  @Test("A modem that has not dialled requires a connection") func aModemThatHasNotDialled() {
    let path = Say.path([Say.lo, Say.link(2, "wwan0", isUp: false, hardware: 519)])
    #expect(path.status == .requiresConnection)
    #expect(path.unsatisfiedReason == .waiting(interface: "wwan0"))
  }

  @Test("An address counts only after its duplicate detection has succeeded") func addressesThatCannotBeUsed() {
    let tentative: UInt32 = 0x40
    let failed: UInt32 = 0x08
    let optimistic: UInt32 = 0x04
    let base = [Say.lo, Say.link(2, "eth0"), Say.routes(Say.route(2, via: "fe80::1", .v6, metric: 1024))]
    for (flags, isUsable) in [
      (0, true), (tentative, false), (tentative | failed, false), (failed, false), (tentative | optimistic, true),
    ] {
      let path = Say.path(base + [Say.address(2, "2001:db8::2", flags: flags)])
      #expect(path.supportsIPv6 == isUsable)
      #expect(path.interfaces[0].addresses.isEmpty == !isUsable)
    }
  }

  /// Docker's bridge has an address that no other interface can send from.
  @Test("An address on the loopback makes a route usable, one of another interface does not")
  func anAddressOfAnotherInterfaceDoesNotHelpButTheMachinesOwnDoes() {
    let base = [
      Say.lo, Say.link(2, "eth0"), Say.link(3, "docker0"), Say.address(3, "172.17.0.1"),
      Say.routes(Say.route(2, via: "192.0.2.1")),
    ]
    #expect(Say.path(base).unsatisfiedReason == .unusableDefaultRoute)
    #expect(Say.path(base + [Say.address(1, "198.51.100.7")]).status == .satisfied)
  }

  @Test("The lower metric is preferred, and IPv4 before IPv6") func theLowerMetricIsPreferredAndIPv4BeforeIPv6() {
    let path = Say.path(
      Say.wired + [
        Say.link(3, "wlan0", device: .init(type: "wlan")), Say.address(3, "198.51.100.2"),
        Say.address(3, "2001:db8::3"), Say.address(2, "2001:db8::2"),
        Say.routes(Say.route(2, via: "192.0.2.1", metric: 600)),
        Say.routes(Say.route(3, via: "198.51.100.1", metric: 50)),
        Say.routes(Say.route(2, via: "fe80::1", .v6, metric: 1)),
      ])
    #expect(path.gateways.map(\.interface) == ["eth0", "wlan0", "eth0", "eth0"])
    #expect(path.preferredInterface?.name == "eth0")
    #expect(path.supportsIPv6)
  }

  @Test("A route that rejects packets hides the routes after it") func aRouteThatRefusesHidesThoseBehindIt() {
    func path(refusing metric: UInt32) -> PathSnapshot {
      var refusing = Say.route(0, metric: metric)
      refusing.refuses = true
      let route = Say.routes(Say.route(2, via: "192.0.2.1", metric: 100))
      return Say.path([Say.lo, Say.link(2, "eth0"), Say.address(2, "192.0.2.2"), route, Say.routes(refusing)])
    }
    #expect(path(refusing: 200).status == .satisfied)
    #expect(path(refusing: 50).gateways.map(\.description) == [])
  }

  @Test("A replaced route is removed") func aRouteThatIsReplacedGoes() {
    let tables = Held(PathTables(Say.wired))
    #expect(tables { $0.apply(Say.routes(Say.route(2, via: "192.0.2.254"), replaces: true)) })
    #expect(tables.value.snapshot().gateways.map(\.description) == ["via 192.0.2.254 on eth0"])
    #expect(!tables { $0.apply(Say.routes(Say.route(2, via: "192.0.2.254"), replaces: true)) })
  }

  /// The kernel says nothing of the IPv4 route that goes with its link.
  @Test("A link that goes down loses its routes and requires a dump")
  func aLinkThatGoesDownTakesItsRoutesAndAsksForADump() {
    let tables = Held(PathTables(Say.wired))
    #expect(tables { $0.apply(Say.link(2, "eth0", isUp: false)) })
    #expect(tables.value.routes.isEmpty)
    #expect(tables { $0.apply(Say.link(2, "eth0")) })
    #expect(tables.value.snapshot().unsatisfiedReason == .noDefaultRoute)
    #expect(!tables { $0.apply(Say.link(2, "eth0")) })
  }

  @Test("A removed link loses its addresses and routes") func aLinkThatIsRemovedTakesEverythingWithIt() {
    let tables = Held(PathTables(Say.wired))
    #expect(tables { $0.apply(.linkGone(index: 2)) })
    #expect(tables.value == PathTables([Say.lo, Say.address(1, "127.0.0.1", scope: 254)]))
    #expect(!tables { $0.apply(.linkGone(index: 2)) })
  }

  @Test("The kind of the interface gives the hints about cost") func hintsOfTheInterface() {
    func path(_ device: DeviceFacts) -> PathSnapshot {
      Say.path(Say.wired + [Say.link(2, "x0", device: device)])
    }
    for (device, isExpensive, isConstrained) in [
      (DeviceFacts(), false, false), (.init(type: "wwan"), true, false), (.init(type: "wlan"), false, false),
      (.init(driver: "rndis_host"), true, false), (.init(type: "bluetooth"), true, true),
    ] {
      #expect(path(device).isExpensive == isExpensive)
      #expect(path(device).isConstrained == isConstrained)
      #expect(path(device).hintSource == .interfaceKind)
    }
  }

  @Test("An estimate of the metered source overrides the kind of the interface")
  func hintsOfNetworkManagerGoBeforeThoseOfTheInterface() {
    let modem = Say.wired + [Say.link(2, "wwan0", device: .init(type: "wwan"))]
    for (metered, isExpensive, isConstrained) in [
      (Metered.yes, true, true), (.probably, true, false), (.no, false, false),
    ] {
      let path = Say.path(modem, PathSurroundings(metered: metered))
      #expect(path.isExpensive == isExpensive)
      #expect(path.isConstrained == isConstrained)
      #expect(path.hintSource == .meteredSource)
    }
    #expect((0...5).map { Metered(networkManager: UInt32($0)) } == [nil, .yes, .no, .probably, .no, nil])
  }

  @Test("The result of a probe is part of the status") func whatAProbeFindsIsPartOfTheStatus() {
    func path(_ found: Reachability?) -> PathSnapshot { Say.path(Say.wired, PathSurroundings(reachability: found)) }
    #expect(path(nil).status == .satisfied)
    #expect(path(.reachable).status == .satisfied)
    #expect(path(.portal).status == .requiresConnection)
    #expect(path(.unreachable).unsatisfiedReason == .unreachable)
    #expect(path(.unreachable).status == .unsatisfied)
  }
}
