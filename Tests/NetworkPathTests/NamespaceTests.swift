import DurableFiles
import SystemTesting
import Testing

@testable import NetworkPath

@Suite(
  "The real kernel, in network namespaces",
  .enabled(if: Namespace.isPermitted, "needs root, or to run under: unshare --user --map-root-user --net"))
struct NamespaceTests {
  /// A namespace with a cable that leads out.
  private func wired() async throws -> Namespace {
    let namespace = try await Namespace()
    try await namespace.addCable("up0")
    try await namespace.ip("addr add 192.0.2.2/24 dev up0\nroute add default via 192.0.2.1")
    return namespace
  }

  private func quick(_ options: inout NetworkPathMonitor.Options) {
    options.settleDown = .milliseconds(1)
    options.settleUp = .milliseconds(1)
  }

  @Test("An empty namespace has only the loopback") func anEmptyNamespace() async throws {
    let namespace = try await Namespace()
    let path = try await namespace.monitor().path
    #expect(path.unsatisfiedReason == .noInterface)
    #expect(path.interfaces.map(\.name) == ["lo"])
    #expect(path.interfaces.first?.kind == .loopback)
    #expect(path.interfaces.first?.link == .up)
  }

  /// The kernel makes the tables of routes when they are first needed.
  @Test("A new namespace without routing tables has no interface that is up") func aNamespaceAsTheKernelMakesIt()
    async throws
  {
    let path = try await Namespace(isBare: true).monitor().path
    #expect(path.unsatisfiedReason == .noInterface)
    #expect(path.interfaces.first?.link == .down)
  }

  @Test("Every step to a usable default route and back is published") func everyStepToAWayOutAndBack() async throws {
    let namespace = try await Namespace()
    let monitor = try await namespace.monitor(quick)
    let seen = Watcher(monitor)
    try await namespace.ip("link add up0 type veth peer name far0")
    try await seen.until("two interfaces") { $0.interfaces.count == 3 && $0.unsatisfiedReason == .interfacesDown }
    try await namespace.ip("link set up0 up")
    try await seen.until("no carrier") { $0.unsatisfiedReason == .noCarrier }
    try await namespace.ip("link set far0 up")
    let carrier = try await seen.until("a carrier") { $0.unsatisfiedReason == .noAddress }
    #expect(carrier.path.interfaces.map(\.kind) == [.loopback, .ethernet, .ethernet])
    try await namespace.ip("addr add 192.0.2.2/24 dev up0")
    try await seen.until("an address") { $0.unsatisfiedReason == .noDefaultRoute }
    try await namespace.ip("route add default via 192.0.2.1")
    let v4 = try await seen.until("IPv4") { $0.status == .satisfied }
    #expect(v4.path.supportsIPv4)
    #expect(!v4.path.supportsIPv6)
    #expect(v4.path.preferredInterface?.name == "up0")
    #expect(v4.changes.contains(.status(from: .unsatisfied, to: .satisfied)))
    try await namespace.ip("addr add 2001:db8::2/64 dev up0 nodad\nroute add default via 2001:db8::1 dev up0")
    let v6 = try await seen.until("IPv6") { $0.supportsIPv6 }
    #expect(v6.path.gateways.map(\.description) == ["via 192.0.2.1 on up0", "via 2001:db8::1 on up0"])

    // One thing after another is taken away.
    try await namespace.ip("route del default")
    try await seen.until("no IPv4") { !$0.supportsIPv4 && $0.supportsIPv6 && $0.status == .satisfied }
    try await namespace.ip("route add default via 192.0.2.1")
    try await seen.until("IPv4 again") { $0.supportsIPv4 }
    try await namespace.ip("link set far0 down")
    let cut = try await seen.until("no carrier") { $0.status == .unsatisfied }
    #expect(cut.path.unsatisfiedReason == .noCarrier)
    #expect(cut.changes.contains(.link(interface: "up0", from: .up, to: .noCarrier)))
    try await namespace.ip("link set far0 up")
    try await seen.until("carrier again") { $0.supportsIPv4 && $0.supportsIPv6 }
    try await namespace.ip("addr del 192.0.2.2/24 dev up0")
    try await seen.until("no address, no IPv4") { !$0.supportsIPv4 && $0.supportsIPv6 }
    #expect(seen.dropped == 0)
    #expect(seen.seen.map(\.number) == Array(1...seen.seen.count))
  }

  /// The kernel removes the IPv4 route without a word, and does not bring it back with the link.
  @Test("A link that was down returns without its route") func aLinkThatWasDownComesBackWithoutItsRoute() async throws {
    let namespace = try await wired()
    let monitor = try await namespace.monitor(quick)
    #expect(monitor.path.status == .satisfied)
    let seen = Watcher(monitor)
    try await namespace.ip("link set up0 down")
    let down = try await seen.until("no way out") { $0.status == .unsatisfied }
    #expect(down.changes.contains(.link(interface: "up0", from: .up, to: .down)))
    try await namespace.ip("link set up0 up")
    try await seen.until("a link without a route") { $0.unsatisfiedReason == .noDefaultRoute }
    // Down and up again before anybody looks.
    try await namespace.ip("route add default via 192.0.2.1")
    try await seen.until("a way out") { $0.status == .satisfied }
    try await namespace.ip("link set up0 down\nlink set up0 up")
    try await seen.until("no route, though the link is up") { $0.unsatisfiedReason == .noDefaultRoute }
  }

  @Test("The loss of one uplink moves traffic to the other") func twoUplinks() async throws {
    let namespace = try await wired()
    let monitor = try await namespace.monitor(quick)
    let seen = Watcher(monitor)
    try await namespace.addCable("up1")
    try await namespace.ip("addr add 198.51.100.2/24 dev up1\nroute add default via 198.51.100.1 dev up1 metric 50")
    let both = try await seen.until("two ways") { $0.gateways.count == 2 }
    #expect(both.path.gateways.map(\.interface) == ["up0", "up1"])
    try await namespace.ip("link set up0 down")
    let other = try await seen.until("the other way") { $0.preferredInterface?.name == "up1" }
    #expect(other.path.status == .satisfied)
    #expect(other.changes.contains(.preferredInterface(from: "up0", to: "up1")))
    try await namespace.ip("route replace default via 198.51.100.9 dev up1 metric 50")
    try await seen.until("another gateway") { $0.gateways.map(\.description) == ["via 198.51.100.9 on up1"] }
    try await namespace.ip("route add unreachable default metric 1")
    try await seen.until("packets are refused") { $0.unsatisfiedReason == .unusableDefaultRoute }
    #expect(seen.seen.allSatisfy { $0.path.status == .satisfied || $0 == seen.seen.last })
  }

  @Test("Renamed and removed interfaces are reported") func renamedAndRemoved() async throws {
    let namespace = try await wired()
    let monitor = try await namespace.monitor(quick)
    let index = try #require(monitor.path.preferredInterface?.index)
    let seen = Watcher(monitor)
    try await namespace.ip("link property add dev up0 altname spare")
    try await namespace.ip("link set up0 down\nlink set up0 name wan\nlink set wan up\nroute add default via 192.0.2.1")
    let renamed = try await seen.until("a new name") { $0.preferredInterface?.name == "wan" }
    #expect(renamed.path.preferredInterface?.index == index)
    #expect(seen.seen.contains { $0.changes.contains(.interfaceRenamed(from: "up0", to: "wan")) })
    try await namespace.ip("link del wan")
    let removed = try await seen.until("none left") { $0.interfaces.count == 1 }
    #expect(removed.path.unsatisfiedReason == .noInterface)
    #expect(seen.seen.contains { $0.changes.contains(.interfaceRemoved("wan")) })
  }

  @Test("Two hundred flaps within the settle time publish nothing") func twoHundredFlapsAreOneLossAtMost() async throws
  {
    let namespace = try await wired()
    let monitor = try await namespace.monitor { options in
      // Longer than the flapping takes, on the slowest machine.
      options.settleDown = .seconds(60)
      options.settleUp = .seconds(60)
    }
    let seen = Watcher(monitor)
    try await seen.until("a way out") { $0.status == .satisfied }
    let flap = "link set up0 down\nlink set up0 up\nroute add default via 192.0.2.1\n"
    try await namespace.ip(String(repeating: flap, count: 200))
    try await eventually("all of it was read") { monitor.statistics.events >= 400 || monitor.statistics.overruns > 0 }
    #expect(monitor.update.number == 1)

    let brisk = try await namespace.monitor(quick)
    let witness = Watcher(brisk)
    try await namespace.ip(String(repeating: flap, count: 200) + "link set up0 down")
    let last = try await witness.until("the end of it") {
      $0.interfaces.contains { $0.name == "up0" && $0.link == .down } && $0.gateways.isEmpty
    }
    #expect(last.path.status == .unsatisfied)
    // Dumps keep their distance, however many links flap.
    #expect(brisk.statistics.dumps < 200)
  }

  @Test("Changes of other routes do not wake the monitor") func fiveThousandRoutes() async throws {
    let namespace = try await wired()
    let routes = (0..<5000).map { "route add 10.\($0 / 250).\($0 % 250).0/24 via 192.0.2.1" }
    try await namespace.ip(routes.joined(separator: "\n"))
    let monitor = try await namespace.monitor(quick)
    #expect(monitor.path.status == .satisfied)
    let seen = Watcher(monitor)
    let events = monitor.statistics.events
    // None of these is news to a path: the kernel does not even tell.
    try await namespace.ip(routes.map { $0.replacing(" add ", with: " del ") }.joined(separator: "\n"))
    try await namespace.ip(routes.joined(separator: "\n"))
    try await namespace.ip("route del default")
    let lost = try await seen.until("no way out") { $0.status == .unsatisfied }
    #expect(lost.path.unsatisfiedReason == .noDefaultRoute)
    #expect(monitor.statistics.events - events < 20)
    #expect(monitor.statistics.overruns == 0)
  }

  @Test("After lost messages the tables are read again") func lostMessages() async throws {
    let namespace = try await wired()
    // The smallest buffer there is holds one message.
    let socket = try await namespace.inside {
      try NetlinkSocket(groups: 0x111, receiveBuffer: 1)
    }
    let addresses = (3..<250).map { "addr add 192.0.2.\($0)/24 dev up0" }
    try await namespace.ip(addresses.joined(separator: "\n"))
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: NetlinkSocket.bufferSize, alignment: 16)
    defer { buffer.deallocate() }
    var received: [NetlinkSocket.Received] = []
    while received.last != .nothing { received.append(try socket.receive(into: buffer)) }
    #expect(received.contains(.overrun))
    #expect(received.count < addresses.count)

    // A monitor with such a buffer loses them too, and knows the end of the story all the same.
    let monitor = try await namespace.monitor { options in
      quick(&options)
      options.receiveBuffer = 1
    }
    let seen = Watcher(monitor)
    var rounds = 0
    while monitor.statistics.overruns == 0, rounds < 100 {
      rounds += 1
      try await namespace.ip(addresses.map { $0.replacing(" add ", with: " del ") }.joined(separator: "\n"))
      try await namespace.ip(addresses.joined(separator: "\n"))
    }
    #expect(monitor.statistics.overruns > 0)
    try await namespace.ip("addr flush dev up0")
    try await seen.until("none of the addresses") { path in
      path.interfaces.contains { $0.name == "up0" && $0.addresses.allSatisfy(\.isLinkLocal) }
        && path.status == .unsatisfied
    }
  }

  /// Also those who read on the monitor's own thread, and keep it busy.
  @Test("Subscribers can run on the monitor's thread") func readersOnTheMonitorsThread() async throws {
    let namespace = try await wired()
    let monitor = try await namespace.monitor(quick)
    let restless = Task(executorPreference: monitor.executor) {
      while !Task.isCancelled { await Task.yield() }
    }
    defer { restless.cancel() }
    let reader = Task(executorPreference: monitor.executor) { () -> (status: PathSnapshot.Status?, thread: String) in
      for await update in monitor.updates() where update.path.status == .unsatisfied {
        return (update.path.status, threadName())
      }
      return (nil, "")
    }
    try await namespace.ip("route del default")
    let read = await reader.value
    #expect(read.status == .unsatisfied)
    #expect(read.thread == "network-path\n")
    monitor.close()
    for await _ in monitor.updates() {}
    let after = Task(executorPreference: monitor.executor) { threadName() }
    #expect(await after.value != "network-path\n")
    restless.cancel()
    await restless.value
  }

  @Test("Closing the monitor ends its streams") func closingEndsTheStreamsAndTheThread() async throws {
    let namespace = try await wired()
    let monitor = try await namespace.monitor()
    let stream = monitor.updates()
    monitor.close()
    var count = 0
    for await _ in stream { count += 1 }
    #expect(count == 1)
    #expect(monitor.problem == nil)
    for await _ in monitor.updates() { count += 1 }
    #expect(count == 2)
  }
}

private func threadName() -> String { SmallFile("/proc/thread-self/comm").text() ?? "" }
