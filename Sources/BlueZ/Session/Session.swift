public import DBus
public import Logging
public import Streams

/// A program's relation to bluetoothd: where everything starts.
///
/// ```swift
/// let session = try await Session.open()
/// let adapter = try await session.adapter()
/// for await sighting in try await adapter.discover() { print(sighting.device.name ?? "?") }
/// ```
///
/// A session outlives bluetoothd. Two rules:
///
/// 1. **What was declared is put back.** Advertisements, applications, discoveries, monitors and "powered on" hold from the
///    moment their call returned until they are given up: when bluetoothd restarts, an adapter is unplugged and comes
///    back, or the bus itself is lost, they are registered again as soon as that is possible.
/// 2. **A handle to something that is gone says so.** A ``Device`` or ``RemoteCharacteristic`` from before a restart
///    throws ``BlueZError/Code/staleHandle`` instead of meaning something else; an ``Adapter`` is known by its address
///    and works again when it is back.
///
/// The session ends with ``close()``, or when it and every handle from it are gone.
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

  /// Connects to the bus. bluetoothd need not run yet.
  /// - Parameters:
  ///   - bus: the bus bluetoothd is on.
  ///   - version: the release that runs, for where it cannot be asked, as from inside a container; `nil` asks it.
  ///   - logger: gets what the supervisor does and what it cannot do.
  /// - Throws: ``BlueZError`` with code `.serviceUnavailable` or `.notPermitted` when the bus cannot be reached.
  public static func open(
    bus: Connection.Bus = .system, version: BlueZRelease? = nil, logger: Logger = Logger(label: "edgeblue.bluez")
  ) async throws -> Session {
    let core = SessionCore(bus: bus, version: version, logger: logger)
    try await core.connect()
    return Session(core: core)
  }

  /// Ends the session: what it had registered goes with its connection.
  public func close() { core.close() }

  /// Whether bluetoothd is there.
  public var isServiceUp: Bool { core.state.withLock { $0.isServiceUp } }

  /// What happens to bluetoothd and its adapters.
  public enum Event: Sendable, Hashable {
    /// bluetoothd has come, or come back; handles from before are stale.
    case serviceUp
    /// bluetoothd, or the bus, is gone.
    case serviceDown
    /// Everything that was declared is in place again, after bluetoothd, an adapter, its power or the bus was gone.
    case restored
    /// An adapter appeared, at this path.
    case adapterAdded(ObjectPath)
    /// An adapter went away.
    case adapterRemoved(ObjectPath)
  }

  /// What happens from now on; the oldest go when the reader is more than `limit` behind.
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

  /// The release of the bluetoothd that runs; `nil` when it cannot be told, as from inside a container, and was not
  /// said when the session was opened.
  public func version() async -> BlueZRelease? { await core.release() }

  /// Runs tasks on the thread of the session's bus.
  ///
  /// A task that mostly waits for small values and answers each saves a third of its CPU time there, and an answer leaves
  /// sooner:
  ///
  /// ```swift
  /// try await withTaskExecutorPreference(session.executor) {
  ///   for try await value in values { try await characteristic.notify(answer(to: value)) }
  /// }
  /// ```
  ///
  /// Whatever blocks or computes for long in such a task holds up the whole session. Without a bus, and once that
  /// connection has ended, tasks run on the default executor.
  public var executor: any TaskExecutor {
    core.state.withLock { $0.bus.connection }?.executor ?? globalConcurrentExecutor
  }
}
