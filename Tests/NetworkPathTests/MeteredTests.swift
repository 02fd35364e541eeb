import DBus
import DBusTesting
import Streams
import SystemTesting
import Testing

@testable import NetworkPath
@testable import NetworkPathNetworkManager

@Suite(
  "NetworkManager's estimate of the cost",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"))
struct MeteredTests {
  private static let name = "org.freedesktop.NetworkManager"

  private func options(_ bus: PrivateBus) -> NetworkPathMonitor.Options {
    var options = NetworkPathMonitor.Options()
    options.meteredSource = NetworkManagerMeteredSource(bus: .address(bus.address))
    options.resolverFile = "/nonexistent/resolv.conf"
    return options
  }

  @Test("The start, changes and stop of NetworkManager are followed") func itComesChangesAndGoes() async throws {
    let bus = try PrivateBus()
    var options = options(bus)
    options.settleDown = .zero
    let monitor = try await NetworkPathMonitor.start(options)
    #expect(monitor.path.hintSource == .interfaceKind)
    let seen = Watcher(monitor)

    let number = Lock<UInt32>(1)
    let service = try await bus.connect()
    let manager = Interface(Self.name, properties: [.init("Metered", "u", get: { .uint32(number.withLock { $0 }) })])
    let object = try service.export("/org/freedesktop/NetworkManager", [manager])
    _ = try await service.requestName(Self.name)
    let metered = try await seen.until("metered") { $0.hintSource == .meteredSource }
    #expect(metered.path.isExpensive)
    #expect(metered.path.isConstrained)
    #expect(metered.changes.contains(.hints(isExpensive: true, isConstrained: true)))

    number.withLock { $0 = 4 }
    try object.emitPropertiesChanged(Self.name, ["Metered": .uint32(number.withLock { $0 })])
    try await seen.until("not metered") { !$0.isExpensive && $0.hintSource == .meteredSource }
    number.withLock { $0 = 3 }
    try object.emitPropertiesChanged(Self.name, ["Metered": .uint32(number.withLock { $0 })])
    try await seen.until("probably metered") { $0.isExpensive && !$0.isConstrained }
    service.close()
    try await seen.until("nobody to ask") { $0.hintSource == .interfaceKind }
  }

  /// NetworkManager says 0, unknown, until it has connected; that is no word that the network is free.
  @Test("The first word is waited for while NetworkManager connects") func itConnects() async throws {
    let bus = try PrivateBus()
    let state = Lock((metered: UInt32(0), state: UInt32(40)))
    let service = try await bus.connect()
    let manager = Interface(
      Self.name,
      properties: [
        .init("Metered", "u", get: { .uint32(state.withLock { $0.metered }) }),
        .init("State", "u", get: { .uint32(state.withLock { $0.state }) }),
      ])
    let object = try service.export("/org/freedesktop/NetworkManager", [manager])
    _ = try await service.requestName(Self.name)
    var options = options(bus)
    options.meteredTimeout = .seconds(60)
    let chosen = options
    let starting = Task { try await NetworkPathMonitor.start(chosen) }
    // Connecting goes on, which is no word either.
    try object.emitPropertiesChanged(Self.name, ["State": .uint32(40)])
    state.withLock { $0 = (1, 70) }
    try object.emitPropertiesChanged(Self.name, ["State": .uint32(70), "Metered": .uint32(1)])
    let monitor = try await starting.value
    #expect(monitor.path.hintSource == .meteredSource)
    #expect(monitor.path.isExpensive)
  }

  @Test("The first word is waited for while NetworkManager has a name and no object yet") func itStarts() async throws {
    let bus = try PrivateBus()
    let service = try await bus.connect()
    _ = try await service.requestName(Self.name)
    let source = NetworkManagerMeteredSource(bus: .address(bus.address))
    let reports = Lock<[Metered?]>([])
    let following = Task { await source.follow { report in reports.withLock { $0.append(report) } } }
    defer { following.cancel() }
    // The source is on the bus, and has probably asked.
    try await eventually {
      let names = try await service.call(
        "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ListNames",
        options: .init(returning: "as"))
      return (names[0].array ?? []).count { $0.string?.hasPrefix(":") == true } == 2
    }
    for _ in 1...5 { _ = try await service.owner(of: Self.name) }
    let manager = Interface(Self.name, properties: [.init("Metered", .uint32(1)), .init("Startup", .bool(false))])
    let object = try service.export("/org/freedesktop/NetworkManager", [manager])
    try await eventually {
      try object.emitPropertiesChanged(Self.name, ["Startup": .bool(false)])
      return reports.withLock { !$0.isEmpty }
    }
    #expect(reports.withLock { $0.first } == .some(.yes))
  }

  @Test("Without a bus the hints are guessed") func withoutABus() async throws {
    var options = NetworkPathMonitor.Options()
    options.meteredSource = NetworkManagerMeteredSource(bus: .address("unix:path=/nonexistent/bus"))
    let monitor = try await NetworkPathMonitor.start(options)
    #expect(monitor.path.hintSource == .interfaceKind)
  }
}
