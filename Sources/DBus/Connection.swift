internal import CDBus
public import Logging
internal import Streams

/// A connection to a message bus, or directly to a peer.
///
/// Two rules hold for every connection:
///
/// 1. **Messages are handled in the order of the wire.** Handlers given to ``observe(_:onEnd:handler:)`` run on the
///    connection's own thread before any later message is handled. A cache that they keep is current before a caller
///    whose reply came after the signal continues.
/// 2. **Calls to one exported object are served one at a time, in the order of their arrival**, also when the handler
///    suspends. Calls to different objects run concurrently.
///
/// A connection is closed when ``close()`` is called, when its last reference is released, or when the bus stops; then
/// every waiting call fails with ``DBusError/Code/disconnected`` and every stream ends. It never reconnects: names, match
/// rules and exported objects belong to the old bus, and only the program knows what to set up again.
/// ``waitUntilClosed()`` returns when that is due.
///
/// ```swift
/// let connection = try await Connection.open(.system)
/// if let owner = try await connection.owner(of: "org.bluez") {
///   print("bluetoothd runs as", owner)
/// }
/// ```
public final class Connection: Sendable {
  /// The bus or peer to connect to.
  public enum Bus: Sendable, Hashable {
    /// The system bus, or the one in the environment variable `DBUS_SYSTEM_BUS_ADDRESS`.
    case system
    /// The session bus, or the one in the environment variable `DBUS_SESSION_BUS_ADDRESS`.
    case session
    /// A message bus at a D-Bus address, such as `unix:path=/run/bus`.
    case address(String)
    /// A peer without a bus at a D-Bus address, where names and match rules do not exist.
    case peer(String)
  }

  /// The timeout of calls without another one: 25 s, as in libdbus.
  public static let defaultTimeout: Duration = .seconds(25)

  let core: ConnectionCore

  init(core: ConnectionCore) {
    self.core = core
  }

  deinit {
    core.stop()
  }

  /// Connects to a bus or a peer.
  /// - Parameters:
  ///   - bus: The bus or peer.
  ///   - logger: The logger for errors that cannot be returned, such as a reply that could not be sent.
  /// - Throws: ``DBusError`` with code `.connectFailed` (no bus at the address, or it refused) or `.limitExceeded` (no
  ///   thread or descriptor left).
  public static func open(
    _ bus: Bus = .system, logger: Logger = Logger(label: "edgeblue.dbus")
  ) async throws -> Connection {
    // Connecting blocks, so it happens on the thread that will serve the connection. The thread must not hold the
    // `Connection` itself: its last reference is what ends the thread.
    let opened = Handoff<ConnectionCore>()
    try DBusError.limited { () throws(SystemCallError) in
      try startThread(named: "dbus") {
        do {
          let core = try ConnectionCore(connecting: bus, logger: logger)
          opened.finish(.success(core))
          core.run()
        } catch {
          opened.finish(.failure(error))
        }
      }
    }
    return Connection(core: try await opened.wait())
  }

  /// The connection's own name on the bus, such as `:1.42`; `nil` on a peer-to-peer connection.
  public var uniqueName: String? { core.uniqueName }

  /// A Boolean value that indicates whether the connection is open.
  public var isOpen: Bool { core.closeReason == nil }

  /// The executor that runs tasks on the connection's own thread, where replies and signals arrive.
  ///
  /// A task that mostly calls methods saves two changes of threads for each call there, about a third of a call's CPU
  /// time:
  ///
  /// ```swift
  /// let connection = try await Connection.open()
  /// try await withTaskExecutorPreference(connection.executor) {
  ///   for name in ["org.bluez", "org.freedesktop.login1"] {
  ///     print(name, try await connection.owner(of: name) ?? "-")
  ///   }
  /// }
  /// ```
  ///
  /// A task that blocks or computes for long delays every user of the connection. After the connection's end such tasks
  /// run on the default executor.
  public var executor: any TaskExecutor { core.executor }

  /// Closes the connection: waiting calls fail, streams end, exported objects are removed.
  public func close() { core.stop() }

  /// Waits until the connection has ended for any reason.
  /// - Returns: The reason; the message tells a lost bus from a call of ``close()``.
  /// - Throws: `CancellationError`.
  @discardableResult
  public func waitUntilClosed() async throws -> DBusError {
    let (stream, source) = BoundedStream.make(of: DBusError.self, limit: 1)
    core.whenClosed { error in
      source.yield(error)
      source.finish()
    }
    for await error in stream { return error }
    throw CancellationError()
  }
}
