public import BlueZ
public import DBus
import DBusTesting
public import Logging

/// A bluetoothd in the test's own process, on a bus of its own, with adapters that see each other: what code over
/// `BlueZ` is tested with where there is no radio, no root and no time.
///
/// ```swift
/// let lab = try await FakeBlueZ.start()
/// let phone = try await lab.adapter(0)     // each in a session of its own, as two programs would be
/// let central = try await lab.adapter(1)
/// …                                        // the code under test
/// try await lab.restart()                  // and does it survive this?
/// try await lab.stop()
/// ```
///
/// It serves the D-Bus contract of BlueZ 5.66, or of the release it is told, as far as `BlueZ` leans on it: adapters,
/// discovery with filters, advertising, links, GATT in both directions, pairing by Just Works and by comparing
/// numbers. Faults are injected by name: ``Fault``, ``kill()``, ``restart()``, ``FakeAdapter/unplug()`` ….
///
/// It is a double, and honest about it. What it does not imitate:
///
/// - **time and loss of the air**: everything is heard at once and arrives. A device advertises once for each scan,
///   and bluetoothd does not forget it after 30 s; ``FakeAdapter/forget(_:)`` does.
/// - **the kernel**: L2CAP channels, the management socket, controllers' limits, and `Adapter.connections()` (who asks which
///   links are encrypted is told that there are none; EdgeCoder's phone needs the access mode `open` here).
/// - **private addresses**, passkey entry, LE Secure Connections as different from other encryption, profiles, BR/EDR,
///   advertisement monitors, prepared-write authorization, EATT.
/// - **the order in which bluetoothd adds one adapter's interfaces**: here they come all at once.
///
/// So tests over it prove that a program keeps to the contract. That the contract is BlueZ's own is proved against a
/// real bluetoothd, in the radio lab.
///
/// It needs `dbus-daemon`, and ends with ``stop()`` or its last reference. Sessions are the caller's to close.
public final class FakeBlueZ: Sendable {
  /// The bus that it is on, for sessions and other programs.
  public let bus: Connection.Bus
  /// The adapters.
  public let adapters: [FakeAdapter]
  /// What it is like.
  public let configuration: Configuration
  private let daemon: Daemon

  private init(_ daemon: Daemon, _ bus: PrivateBus, _ adapters: [FakeAdapter], _ configuration: Configuration) {
    self.daemon = daemon
    self.bus = .address(bus.address)
    self.adapters = adapters
    self.configuration = configuration
  }

  deinit {
    Task { [daemon] in await daemon.end() }
  }

  /// Starts a bus and a bluetoothd on it.
  /// - Parameters:
  ///   - count: how many adapters there are, 0…256.
  ///   - configuration: what they and bluetoothd are like.
  ///   - logger: gets what only a fault of the fake itself explains.
  /// - Throws: `MissingProgram` without a dbus-daemon; `DBusError`.
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

  /// A session with it, such as a program of its own would have.
  /// - Throws: `BlueZError`.
  public func session(logger: Logger = Logger(label: "edgeblue.bluez")) async throws -> Session {
    try await Session.open(bus: bus, version: configuration.version, logger: logger)
  }

  /// One of the adapters, in a session of its own.
  /// - Parameter index: its place in ``adapters``.
  /// - Throws: `BlueZError`, with code `.noAdapter` when there is none or it is unplugged.
  public func adapter(_ index: Int) async throws -> Adapter {
    guard adapters.indices.contains(index) else {
      throw BlueZError(.noAdapter, "there is no adapter \(index); the fake was started with \(adapters.count)")
    }
    return try await session().adapter(adapters[index].name)
  }

  /// Ends everything. Sessions see bluetoothd go.
  /// - Throws: `DBusError` when the bus is gone already.
  public func stop() async throws { try await kill() }

  // MARK: Faults of bluetoothd

  /// Kills bluetoothd: its name vanishes, and with it all that was registered, every link and every device without a
  /// bond. Returns when the bus has told everyone.
  /// - Throws: `DBusError` when the bus is gone.
  public func kill() async throws { try await daemon.kill() }

  /// Starts bluetoothd again after ``kill()``; without effect while it runs.
  /// - Throws: `DBusError` when the bus is gone.
  public func startAgain() async throws { try await daemon.start() }

  /// Kills bluetoothd and starts it again. `Session.Event.restored` says when a session has put back what it declared.
  /// - Throws: `DBusError` when the bus is gone.
  public func restart() async throws {
    try await kill()
    try await startAgain()
  }
}
