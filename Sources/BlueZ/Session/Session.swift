public import DBus
public import Logging
public import Streams

/// A connection of this program to bluetoothd, from which adapters, devices and everything else are obtained.
///
/// ```swift
/// let session = try await Session.open()
/// let adapter = try await session.adapter()
/// for await result in try await adapter.discover() { print(result.device.name ?? "?") }
/// ```
///
/// A session survives restarts of bluetoothd. Two rules hold:
///
/// 1. **Declarations are restored.** Advertisements, applications, discoveries, monitors and "powered on" are valid
///   from the moment their call returned until they are withdrawn. When bluetoothd restarts, an adapter is unplugged
///   and comes back, or the bus itself is lost, the session registers them again as soon as possible.
/// 2. **Handles to removed objects fail.** A ``Device`` or ``RemoteCharacteristic`` from before a restart throws
///   ``BlueZError/Code/staleHandle`` rather than denoting a different object. An ``Adapter`` is identified by its
///   address and works again when the adapter is back.
///
/// The session ends with ``close()``, or when the last reference to it and to every handle from it is released.
public final class Session: Sendable {
  let core: SessionCore
  private let supervisor: Task<Void, Never>

  private init(core: SessionCore) {
    self.core = core
    supervisor = Task { await core.supervise() }
  }

  deinit {
    core.close()
  }

  /// Connects to the message bus. bluetoothd may start later.
  /// - Parameters:
  ///   - bus: The bus that bluetoothd is on.
  ///   - version: The release of bluetoothd, for environments in which it cannot be found out, such as a container;
  ///     `nil` finds it out.
  ///   - logger: The logger for the supervisor's actions and failures.
  /// - Throws: ``BlueZError`` with code `.serviceUnavailable` or `.notPermitted` when the bus cannot be reached.
  public static func open(
    bus: Connection.Bus = .system, version: BlueZRelease? = nil, logger: Logger = Logger(label: "edgeblue.bluez")
  ) async throws -> Session {
    try await open(SessionCore(bus: bus, version: version, logger: logger))
  }

  /// Connects to the message bus, for tests that replace the kernel's management interface.
  package static func open(
    bus: Connection.Bus, version: BlueZRelease? = nil, management: @escaping ManagementSocket.Opener
  ) async throws -> Session {
    var kernel = KernelAccess.host
    kernel.openManagement = management
    return try await open(bus: bus, version: version, logger: Logger(label: "edgeblue.bluez"), kernel: kernel)
  }

  /// Connects to the message bus of a fake bluetoothd, which stands in for the kernel, too.
  package static func open(
    bus: Connection.Bus, version: BlueZRelease?, logger: Logger, kernel: KernelAccess
  ) async throws -> Session {
    try await open(SessionCore(bus: bus, version: version, logger: logger, kernel: kernel))
  }

  private static func open(_ core: SessionCore) async throws -> Session {
    try await core.connect()
    return Session(core: core)
  }

  /// Ends the session for good, without waiting.
  ///
  /// bluetoothd removes everything that the session registered. Links that the session made are ended, see
  /// ``LinkLifetime``; bluetoothd needs two seconds for that, and this program need not wait for it: another session of it
  /// that connects to the same device meanwhile does so after that end. All streams, L2CAP channels and connections of
  /// the session finish, and whatever still waits throws ``BlueZError/Code/serviceUnavailable``.
  ///
  /// Linux 6.1 crashes when a link ends over which the peer has not responded yet. There such a link, as one of a program
  /// that needed it for a second, ends when bluetoothd has read the peer's services, as long as this program runs: one
  /// that is about to exit calls ``end()``.
  public func close() { core.close() }

  /// Ends the session for good, as ``close()`` does, and returns when bluetoothd has the request to end each of its links.
  ///
  /// ```swift
  /// let channel = try await device.openChannel(psm: 0x80)
  /// try await channel.send([1])
  /// try await channel.flush()
  /// await session.end()
  /// ```
  ///
  /// On most kernels that is at once. Linux 6.1 must keep a link until the peer has responded, which takes a second or
  /// two, and at most 32 s for a peer that does not respond.
  public func end() async {
    core.close()
    await core.lastLinks.withLock { $0 }?.value
  }

  /// A Boolean value that indicates whether bluetoothd is running.
  public var isServiceUp: Bool { core.state.withLock { $0.isServiceUp } }

  /// A change of bluetoothd or of its adapters.
  public enum Event: Sendable, Hashable {
    /// bluetoothd started, or started again; earlier handles are stale.
    case serviceUp
    /// bluetoothd stopped, or the bus is gone.
    case serviceDown
    /// Everything that was declared is registered again, after bluetoothd, an adapter, its power or the bus was gone.
    case restored
    /// An adapter appeared at this object path.
    case adapterAdded(ObjectPath)
    /// The adapter at this object path was removed.
    case adapterRemoved(ObjectPath)
  }

  /// Returns the events from now on.
  /// - Parameter limit: The capacity of the stream; when it is full the oldest events are dropped.
  public func events(limit: Int = 64) -> BoundedStream<Event> {
    core.stream(limit: limit) { change in
      switch change {
      case .serviceUp: .serviceUp
      case .serviceDown: .serviceDown
      case .restored: .restored
      case .added(let path, let interfaces) where interfaces.contains(InterfaceName.adapter): .adapterAdded(path)
      case .removed(let path, let interfaces) where interfaces.contains(InterfaceName.adapter): .adapterRemoved(path)
      default: nil
      }
    }
  }

  /// Returns the release of the running bluetoothd.
  /// - Returns: `nil` when it cannot be found out, as inside a container, and was not passed to
  ///   ``open(bus:version:logger:)``.
  public func version() async -> BlueZRelease? { await core.release() }

  /// An executor that runs tasks on the thread of the session's bus connection.
  ///
  /// A task that mostly waits for small values and responds to each saves a third of its CPU time there, and its
  /// response leaves sooner:
  ///
  /// ```swift
  /// try await withTaskExecutorPreference(session.executor) {
  ///   for try await value in try await characteristic.notifications() {
  ///     try await characteristic.write(value, .withoutResponse)
  ///   }
  /// }
  /// ```
  ///
  /// A task that blocks or computes for long delays the whole session. Without a bus connection, tasks run on the
  /// default executor.
  public var executor: any TaskExecutor {
    core.state.withLock { $0.bus.connection }?.executor ?? globalConcurrentExecutor
  }
}
