internal import CDBus
import Logging
import Streams

/// The state that a connection shares with its own thread.
///
/// Locks, in the order they may be taken: `announcements`, `loop.ioLock` (around libdbus's transport), libdbus's own,
/// `state`. No code outside this library runs under any of them; observers of signals run on the thread with no lock
/// held.
final class ConnectionCore: @unchecked Sendable {
  // Sound: `raw` is thread-safe under `ioLock`; mutable properties are in `state`, or used by the one thread only.

  struct State {
    var pending: [UInt32: PendingCall] = [:]
    /// The earliest deadline of the pending calls, or an earlier instant: that of an answered call stays, so that the calls
    /// of the next seconds need not wake the thread for theirs.
    var nextDeadline: UInt64?
    var stopping = false
    var closeReason: DBusError?
    var closeHandlers: [@Sendable (DBusError) -> Void] = []
    var subscriptions: [Subscriber] = []
    var nextSubscription = 0
    var rules: [String: RuleUse] = [:]
    var owners: [String: OwnerTracking] = [:]
    var objects: [ObjectPath: ExportedObject.Node] = [:]
    /// The object managers among them: few, and needed whenever an object is added or removed.
    var objectManagers: Set<ObjectPath> = []
  }

  let raw: OpaquePointer
  let loop: WatchLoop
  let executor: ThreadExecutor
  let logger: Logger
  let uniqueName: String?
  let state = Lock(State())
  /// The number of signals about exported objects, so that no reply older than such a signal is sent after it; held while
  /// sending.
  let announcements = Lock(0)
  /// The readers to wake after all messages that arrived together were handled; used by the thread only.
  private var sleepers: [UnsafeContinuation<Void, Never>] = []
  /// The names in the last signal, which are mostly those of the next; used by the thread only.
  var lastSignal = SignalNames()

  /// Connects; blocks until the bus has replied.
  convenience init(connecting bus: Connection.Bus, logger: Logger) throws(DBusError) {
    dbus_threads_init_default()
    let raw: OpaquePointer? =
      switch bus {
      case .system: try DBusError.check(.connectFailed) { dbus_bus_get_private(DBUS_BUS_SYSTEM, $0) }
      case .session: try DBusError.check(.connectFailed) { dbus_bus_get_private(DBUS_BUS_SESSION, $0) }
      case .address(let address), .peer(let address): try Self.open(address)
      }
    guard let raw else { throw DBusError(.connectFailed, "no connection to \(bus)") }
    if case .address = bus {
      do throws(DBusError) {
        _ = try DBusError.check(.connectFailed) { dbus_bus_register(raw, $0) }
      } catch {
        dbus_connection_close(raw)
        dbus_connection_unref(raw)
        throw error
      }
    }
    try self.init(owning: raw, logger: logger)
  }

  /// Takes ownership of a private connection.
  init(owning raw: OpaquePointer, logger: Logger) throws(DBusError) {
    self.raw = raw
    self.logger = logger
    do throws(DBusError) {
      loop = try WatchLoop()
    } catch {
      dbus_connection_close(raw)
      dbus_connection_unref(raw)
      throw error
    }
    executor = ThreadExecutor(wake: { [loop] in loop.wake() })
    uniqueName = dbus_bus_get_unique_name(raw).map { String(cString: $0) }
    dbus_connection_set_exit_on_disconnect(raw, 0)
  }

  private static func open(_ address: String) throws(DBusError) -> OpaquePointer? {
    guard !address.utf8.contains(0) else { throw DBusError(.invalidArgument, "the address contains a NUL") }
    return try DBusError.check(.connectFailed) { dbus_connection_open_private(address, $0) }
  }

  /// Serves the connection until it ends, on a thread of its own.
  func run() {
    let this = Unmanaged.passUnretained(self)
    let loopPointer = Unmanaged.passUnretained(loop)
    dbus_connection_set_watch_functions(
      raw, addWatch, removeWatch, toggleWatch,
      loopPointer.toOpaque(), nil)
    dbus_connection_add_filter(
      raw,
      { _, message, this in
        Unmanaged<ConnectionCore>.fromOpaque(this!).takeUnretainedValue().receive(message!)
        return DBUS_HANDLER_RESULT_HANDLED
      }, this.toOpaque(), nil)

    while true {
      while dbus_connection_dispatch(raw) == DBUS_DISPATCH_DATA_REMAINS {}
      wakeSleepers()
      executor.runJobs()
      let (stop, deadline) = state.withLock { ($0.stopping || $0.closeReason != nil, $0.nextDeadline) }
      if stop { break }
      loop.waitAndHandle(until: executor.hasJobs ? 0 : deadline)
      expireCalls()
    }

    ended(DBusError(.disconnected, "the connection was closed"))
    loop.ioLock.withLock {
      dbus_connection_close(raw)
    }
    while dbus_connection_dispatch(raw) == DBUS_DISPATCH_DATA_REMAINS {}
    wakeSleepers()
    dbus_connection_set_watch_functions(raw, nil, nil, nil, nil, nil)
    dbus_connection_unref(raw)
    executor.end()
  }

  /// Wakes a reader after all messages that arrived together were handled. Only on the connection's thread.
  func afterBurst(_ reader: UnsafeContinuation<Void, Never>) { sleepers.append(reader) }

  private func wakeSleepers() {
    guard !sleepers.isEmpty else { return }
    for reader in sleepers { reader.resume() }
    sleepers.removeAll(keepingCapacity: true)
  }

  /// Passes a message to libdbus, which writes as much as the socket accepts; the thread writes the rest.
  /// - Parameter register: A closure that runs with the message's serial before any reply can arrive.
  func send(_ message: RawMessage, register: ((UInt32, inout State) -> Void)? = nil) throws(DBusError) {
    let failure: DBusError? = loop.ioLock.withLock {
      if let reason = state.withLock({ $0.stopping ? stopped : $0.closeReason }) { return reason }
      var serial: UInt32 = 0
      guard dbus_connection_send(raw, message.pointer, &serial) != 0 else {
        return DBusError(.limitExceeded, "libdbus rejected the message: out of memory, or descriptors are unsupported")
      }
      if let register { state.withLock { register(serial, &$0) } }
      return nil
    }
    if let failure { throw failure }
  }

  func stop() {
    state.withLock { $0.stopping = true }
    loop.wake()
  }

  var stopped: DBusError { DBusError(.disconnected, "the connection was closed") }

  var closeReason: DBusError? {
    state.withLock { $0.closeReason ?? ($0.stopping ? stopped : nil) }
  }

  func whenClosed(_ handler: @escaping @Sendable (DBusError) -> Void) {
    let reason = state.withLock { state -> DBusError? in
      if state.closeReason == nil { state.closeHandlers.append(handler) }
      return state.closeReason
    }
    if let reason { handler(reason) }
  }

  /// Fails all waiting calls and ends all streams; only the first reason counts.
  func ended(_ reason: DBusError) {
    let old = state.withLock { state -> State? in
      guard state.closeReason == nil else { return nil }
      let old = state
      state = State()
      state.closeReason = reason
      return old
    }
    guard let old else { return }
    for call in old.pending.values { call.reply.finish(.failure(reason)) }
    for subscriber in old.subscriptions { subscriber.onEnd() }
    for node in old.objects.values { node.mailbox.finish() }
    for handler in old.closeHandlers { handler(reason) }
  }

  /// Handles one received message, on the connection's thread.
  private func receive(_ message: OpaquePointer) {
    switch dbus_message_get_type(message) {
    case DBUS_MESSAGE_TYPE_METHOD_RETURN, DBUS_MESSAGE_TYPE_ERROR: receiveReply(message)
    case DBUS_MESSAGE_TYPE_SIGNAL: receiveSignal(message)
    case DBUS_MESSAGE_TYPE_METHOD_CALL: receiveCall(RawMessage(retaining: message))
    default: break
    }
  }
}
