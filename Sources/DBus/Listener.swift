internal import CDBus
public import Logging
public import Streams

/// A server that accepts peer-to-peer connections at an address, without a bus.
///
/// ```swift
/// let listener = try Listener("unix:tmpdir=/tmp")
/// print("listening at", listener.address)
/// for await connection in listener.connections {
///   _ = try connection.export("/echo", [])
/// }
/// ```
public final class Listener: Sendable {
  private let core: ListenerCore

  /// The address that a peer passes to ``Connection/Bus/peer(_:)``.
  public var address: String { core.address }

  /// A stream of the accepted connections, which ends with ``close()``.
  public let connections: BoundedStream<Connection>

  /// Starts listening at an address.
  /// - Parameters:
  ///   - address: A D-Bus listening address, such as `unix:tmpdir=/tmp` or `unix:path=/run/me/socket`.
  ///   - logger: The logger for errors that cannot be returned, as for ``Connection/open(_:logger:)``.
  /// - Throws: ``DBusError`` with code `.connectFailed`.
  public init(_ address: String, logger: Logger = Logger(label: "edgeblue.dbus")) throws {
    let (stream, source) = BoundedStream.make(of: Connection.self, limit: 64, policy: .dropNewest)
    connections = stream
    let core = try ListenerCore(address, logger: logger, accepted: source)
    self.core = core
    try DBusError.limited { () throws(SystemCallError) in try startThread(named: "dbus-listen") { core.run() } }
  }

  deinit {
    core.stop()
  }

  /// Stops listening; accepted connections stay open.
  public func close() { core.stop() }
}

/// The libdbus server and its thread.
private final class ListenerCore: @unchecked Sendable {
  // Sound: `raw` is used by its own thread only, but for `stop`, which touches the flag and the loop.
  let address: String
  private let raw: OpaquePointer
  private let loop: WatchLoop
  private let logger: Logger
  private let accepted: BoundedStream<Connection>.Source
  private let stopping = Lock(false)

  init(_ address: String, logger: Logger, accepted: BoundedStream<Connection>.Source) throws(DBusError) {
    guard !address.utf8.contains(0) else { throw DBusError(.invalidArgument, "the address contains a NUL") }
    dbus_threads_init_default()
    let loop = try WatchLoop()
    guard let raw = try DBusError.check(.connectFailed, { dbus_server_listen(address, $0) }) else {
      throw DBusError(.connectFailed, "cannot listen at \(address)")
    }
    self.raw = raw
    self.loop = loop
    self.logger = logger
    self.accepted = accepted
    let text = dbus_server_get_address(raw)
    self.address = text.map { String(cString: $0) } ?? address
    dbus_free(text)
  }

  func run() {
    dbus_server_set_watch_functions(
      raw, addWatch, removeWatch, toggleWatch,
      Unmanaged.passUnretained(loop).toOpaque(), nil)
    dbus_server_set_new_connection_function(
      raw,
      { _, connection, this in
        Unmanaged<ListenerCore>.fromOpaque(this!).takeUnretainedValue().accept(connection!)
      }, Unmanaged.passUnretained(self).toOpaque(), nil)
    while !stopping.withLock({ $0 }) { loop.waitAndHandle(until: nil) }
    dbus_server_disconnect(raw)
    dbus_server_set_watch_functions(raw, nil, nil, nil, nil, nil)
    dbus_server_unref(raw)
    accepted.finish()
  }

  func stop() {
    stopping.withLock { $0 = true }
    loop.wake()
  }

  private func accept(_ connection: OpaquePointer) {
    do {
      let core = try ConnectionCore(owning: dbus_connection_ref(connection), logger: logger)
      let served = Connection(core: core)
      try startThread(named: "dbus-peer") { core.run() }
      accepted.yield(served)
    } catch {
      logger.error("accepting a connection failed", metadata: ["error": "\(error)"])
    }
  }
}
