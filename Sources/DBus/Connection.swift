internal import CDBus
public import Logging
internal import Streams

/// A connection to a message bus, or straight to a peer.
///
/// Two rules hold for every connection, and the rest of this library leans on them:
///
/// 1. **What came first on the wire is seen first.** Handlers given to ``observe(_:onEnd:handler:)`` run on the connection's
///    own thread before anything that came later is looked at. A cache they keep is up to date before a caller whose
///    reply came after the signal goes on.
/// 2. **Calls to one exported object are served one at a time, in the order they came**, also when the handler
///    suspends. Calls to different objects run side by side.
///
/// A connection is closed when ``close()`` is called, when its last reference goes, or when the bus goes away; then
/// every waiting call fails with ``DBusError/Code/disconnected`` and every stream ends. It never reconnects by itself:
/// names, match rules and exported objects belong to the old bus, and only the user of the connection knows what to
/// set up again. ``waitUntilClosed()`` says when.
public final class Connection: Sendable {
  /// Where to connect to.
  public enum Bus: Sendable, Hashable {
    /// The system bus, or `DBUS_SYSTEM_BUS_ADDRESS`.
    case system
    /// The session bus, or `DBUS_SESSION_BUS_ADDRESS`.
    case session
    /// A message bus at a D-Bus address, such as `unix:path=/run/bus`.
    case address(String)
    /// A peer without a bus at a D-Bus address; there are no names and no match rules there.
    case peer(String)
  }

  /// What a call waits for when it is not told otherwise: 25 s, libdbus's own default.
  public static let defaultTimeout: Duration = .seconds(25)

  let core: ConnectionCore

  init(core: ConnectionCore) {
    self.core = core
  }

  deinit {
    core.stop()
  }

  /// Connects.
  /// - Parameters:
  ///   - bus: where to.
  ///   - logger: gets what cannot be returned to anyone, such as a reply that could not be sent.
  /// - Throws: ``DBusError`` with code `.connectFailed` (nobody there, refused) or `.limitExceeded`.
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

  /// This connection's own name on the bus, such as `:1.42`; `nil` on a peer-to-peer connection.
  public var uniqueName: String? { core.uniqueName }

  /// Whether the connection is still there.
  public var isOpen: Bool { core.closeReason == nil }

  /// Runs tasks on the connection's own thread, where replies and signals arrive.
  ///
  /// A task that does little but talk to the bus saves two changes of threads for each call there, about a third of
  /// a call's CPU time:
  ///
  /// ```swift
  /// try await withTaskExecutorPreference(connection.executor) {
  ///   for name in names { try await connection.call(…) }
  /// }
  /// ```
  ///
  /// Whatever blocks or computes for long in such a task holds up everyone who uses the connection. After the
  /// connection's end the tasks go on on the default executor.
  public var executor: any TaskExecutor { core.executor }

  /// Ends the connection. Waiting calls fail, streams end, exported objects are gone.
  public func close() { core.stop() }

  /// Waits until the connection has ended, for whatever reason.
  /// - Returns: why; a lost bus and a call of ``close()`` differ in the message.
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
