public import BlueZ
public import DBus
import DBusTesting
public import Logging

/// A bluetoothd in the test's own process, on a private bus, with adapters that are in range of each other.
///
/// It serves to test code over `BlueZ` without a radio, without root privileges and without waiting:
///
/// ```swift
/// import BlueZ
///
/// let lab = try await FakeBlueZ.start()
/// let phone = try await lab.adapter(0)  // each in a session of its own, like two programs
/// let central = try await lab.adapter(1)
/// let advertisement = try await phone.advertise(.init(name: "Lamp", services: ["180f"]))
/// for await result in try await central.discover(.init(services: ["180f"])) {
///   print(result.device)  // the code under test
///   break
/// }
/// try await advertisement.stop()
/// try await lab.stop()
/// ```
///
/// The fake implements the D-Bus contract of BlueZ 5.66, or of the release in its ``Configuration``, as far as `BlueZ`
/// depends on it: adapters, private addresses, discovery with filters, advertising, monitors, connections, GATT in both
/// roles, pairing by Just Works, by numeric comparison and by passkey entry. For its sessions it also stands in for the
/// kernel: L2CAP channels, which outlive bluetoothd, with PSMs, MTUs, security levels and credits; the connections of
/// an adapter; and the management interface, which with ``Configuration/hasNetAdmin`` serves every command that `BlueZ`
/// sends. Faults are injected with
/// ``FakeAdapter/inject(_:)``, ``kill()``, ``restart()`` and ``FakeAdapter/unplug()``.
///
/// It does not imitate:
///
/// - **the time and losses of the radio**: everything is received at once, and nothing is lost. A device advertises
///   once for each scan, and bluetoothd does not forget it after 30 s; ``FakeAdapter/forget(_:)`` does.
/// - **the rest of the kernel**: limits of controllers, debugfs, and what preferred connection parameters, PHYs, privacy
///   and Secure Connections do to links, which only say that they are set. PSMs below 0x80 are refused, as to a program
///   without privileges.
/// - pairing again for a better key, profiles, BR/EDR beyond the fact of a link
///   (``FakeAdapter/setClassicLink(_:with:)``), authorization of prepared writes, EATT.
/// - **the order in which bluetoothd adds the interfaces of an adapter**: here they appear at once.
///
/// So a test with the fake shows that a program follows the contract. That the contract is BlueZ's own is shown by the
/// tests against a real bluetoothd, in the radio lab.
///
/// The fake needs `dbus-daemon`. It ends with ``stop()`` or its last reference; sessions are closed by the caller.
public final class FakeBlueZ: Sendable {
  /// The private bus of the fake, for sessions and other programs.
  public let bus: Connection.Bus
  /// The adapters of the fake, ordered by name.
  public let adapters: [FakeAdapter]
  /// The configuration that the fake was started with.
  public let configuration: Configuration
  let daemon: Daemon

  private init(_ daemon: Daemon, _ bus: PrivateBus, _ adapters: [FakeAdapter], _ configuration: Configuration) {
    self.daemon = daemon
    self.bus = .address(bus.address)
    self.adapters = adapters
    self.configuration = configuration
  }

  deinit {
    Task { [daemon] in await daemon.end() }
  }

  /// Starts a private bus and a fake bluetoothd on it.
  /// - Parameters:
  ///   - count: The number of adapters, 0 to 256.
  ///   - configuration: The release, the MTU and the other properties of the fake.
  ///   - logger: The logger for failures of the fake itself.
  /// - Throws: `MissingProgram` when there is no dbus-daemon; `DBusError`.
  public static func start(
    adapters count: Int = 2, _ configuration: Configuration = Configuration(),
    logger: Logger = Logger(label: "edgeblue.fake-bluez")
  ) async throws -> FakeBlueZ {
    let bus = try PrivateBus(limits: configuration.busLimits)
    let daemon = try Daemon(adapters: max(count, 0), configuration, bus, logger: logger)
    let adapters = await daemon.handles()
    try await daemon.start()
    return FakeBlueZ(daemon, bus, adapters, configuration)
  }

  /// Opens a session with the fake, like a program of its own. Its kernel is that of the fake, too; a session that is
  /// opened on ``bus`` in another way has that of this host.
  /// - Throws: `BlueZError` when the bus is gone.
  public func session(logger: Logger = Logger(label: "edgeblue.bluez")) async throws -> Session {
    let channels = daemon.channels
    let kernel = daemon.kernel
    let access = KernelAccess(
      openManagement: { try kernel.management.open() }, openSocket: { VirtualSocket(channels) },
      connections: { number, _ in kernel.connections(of: number) })
    return try await Session.open(bus: bus, version: configuration.version, logger: logger, kernel: access)
  }

  /// Returns an adapter in a session of its own.
  /// - Parameter index: The index of the adapter in ``adapters``.
  /// - Throws: `BlueZError`, with code `.noAdapter` when there is none at the index, or it is unplugged.
  public func adapter(_ index: Int) async throws -> Adapter {
    guard adapters.indices.contains(index) else {
      throw BlueZError(.noAdapter, "the adapter index is \(index); allowed: below \(adapters.count)")
    }
    return try await session().adapter(adapters[index].name)
  }

  /// Stops the fake for good; sessions see that bluetoothd stopped.
  /// - Throws: `DBusError` when the bus is gone already.
  public func stop() async throws {
    for adapter in adapters { adapter.repair() }
    try await kill()
  }

  // MARK: Faults of bluetoothd

  /// Kills bluetoothd: its name disappears from the bus, and with it all registrations, all connections and every
  /// device without a bond. Returns when the bus has informed all clients.
  /// - Throws: `DBusError` when the bus is gone.
  public func kill() async throws { try await daemon.kill() }

  /// Starts bluetoothd again after ``kill()``; without effect while it runs.
  /// - Throws: `DBusError` when the bus is gone.
  public func startAgain() async throws { try await daemon.start() }

  /// Kills bluetoothd and starts it again. `Session.Event.restored` follows when a session has registered its
  /// declarations again.
  /// - Throws: `DBusError` when the bus is gone.
  public func restart() async throws {
    try await kill()
    try await startAgain()
  }
}
