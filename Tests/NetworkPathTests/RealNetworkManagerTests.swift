import DBusTesting
import NetworkPath
import NetworkPathNetworkManager
import Streams
import SystemTesting
import Testing

@Suite(
  "The NetworkManager of this machine",
  .enabled(if: RealNetworkManager.isInstalled, "needs NetworkManager, nmcli, and the right to make network namespaces"),
  .timeLimit(.minutes(5)))
struct RealNetworkManagerTests {
  private let bus: PrivateBus

  init() throws { bus = try PrivateBus() }

  @Test("What its user says of the cost is followed, and its end and its return") func cost() async throws {
    let source = NetworkManagerMeteredSource(bus: .address(bus.address))
    let reports = Lock<[Metered?]>([])
    let following = Task { await source.follow { report in reports.withLock { $0.append(report) } } }
    defer { following.cancel() }
    func reported(_ what: Metered?) async throws {
      try await eventually("\(what as Any)", within: .seconds(30)) { reports.withLock { $0.last } == .some(what) }
    }
    try await reported(nil)
    let real = try await RealNetworkManager(bus)
    try await reported(.yes)
    try await real.make("metered no")
    try await reported(.no)
    try await real.make("stop")
    try await reported(nil)
    try await real.make("start")
    try await reported(.no)
    await real.end()
    try await reported(nil)
  }

  /// While it starts and connects it says "unknown", which is no word.
  @Test("A source that comes while it connects waits for its word") func firstWord() async throws {
    let real = try await RealNetworkManager(bus)
    try await real.make("stop")
    async let started: Void = real.make("start")
    let reports = Lock<[Metered?]>([])
    let observer = try await bus.connect()
    try await eventually("its name", within: .seconds(30)) {
      try await observer.owner(of: "org.freedesktop.NetworkManager") != nil
    }
    let source = NetworkManagerMeteredSource(bus: .address(bus.address))
    let following = Task { await source.follow { report in reports.withLock { $0.append(report) } } }
    defer { following.cancel() }
    try await started
    try await eventually("a word", within: .seconds(30)) { reports.withLock { !$0.isEmpty } }
    #expect(reports.withLock { $0.first } == .some(.yes))
    await real.end()
  }

  @Test("Its check tells a network that is open from one with a portal, and from none") func connectivity() async throws
  {
    let probe = NetworkManagerProbe(bus: .address(bus.address))
    let real = try await RealNetworkManager(bus)
    for (order, expected) in [
      ("page online", Reachability.reachable), ("page portal", .portal), ("page none", .unreachable),
      ("page online", .reachable), ("cable out", .unreachable),
    ] {
      try await real.make(order)
      // The loss of the cable is believed after a moment.
      try await eventually(order, within: .seconds(60)) { try await probe.probe() == expected }
    }
    try await real.make("cable in")
    try await real.make("connect")
    #expect(try await probe.probe() == .reachable)
    await real.end()
    await #expect(throws: NetworkPathError.self) { try await probe.probe() }
  }
}
