internal import CDBus
import Logging
import Streams

/// What the connection's own thread and its users share.
///
/// Locks, in the order they may be taken: `told`, `loop.ioLock` (around libdbus's transport), libdbus's own, `state`.
/// Nothing outside this library runs under any of them, but for the observers of signals, which run on the thread
/// with no lock held.
final class ConnectionCore: @unchecked Sendable {
  // Sound: `raw` is thread-safe under `ioLock`, what is mutable is in `state` or said to be the thread's own.

  struct State {
    var pending: [UInt32: PendingCall] = [:]
    /// No pending call ends before this; it may be too early, never too late.
    var nextDeadline: UInt64?
    var stopping = false
    var closeReason: DBusError?
    var closeHandlers: [@Sendable (DBusError) -> Void] = []
    var subscriptions: [Subscriber] = []
    var nextSubscription = 0
    var rules: [String: RuleUse] = [:]
    var owners: [String: OwnerTracking] = [:]
    var objects: [ObjectPath: ExportedObject.Node] = [:]
    /// Those of them that manage others: few, and looked for whenever an object comes or goes.
    var objectManagers: Set<ObjectPath> = []
  }

  let raw: OpaquePointer
  let loop: WatchLoop
  let executor: ThreadExecutor
  let logger: Logger
  let uniqueName: String?
  let state = Lock(State())
  /// Counts what was told of exported objects, so that no answer older than that is sent after it; held while sending.
  let told = Lock(0)
  /// Readers to wake once everything that arrived together has been looked at; the thread's own.
  private var sleepers: [UnsafeContinuation<Void, Never>] = []
  /// The names in the last signal, which are mostly those of the next; the thread's own.
  var lastSignal = SignalNames()

  /// Connects; blocks until the bus has answered.
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

  /// Takes over a private connection.
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
    guard !address.utf8.contains(0) else { throw DBusError(.invalidArgument, "an address holds no NUL") }
    return try DBusError.check(.connectFailed) { dbus_connection_open_private(address, $0) }
  }

  /// Serves the connection until it ends; runs on the thread it was made for.
  func run() {
    let this = Unmanaged.passUnretained(self)
    let loopPointer = Unmanaged.passUnretained(loop)
    dbus_connection_set_watch_functions(
      raw,
      { watch, loop in
        Unmanaged<WatchLoop>.fromOpaque(loop!).takeUnretainedValue().add(watch!)
        return 1
      },
      { watch, loop in Unmanaged<WatchLoop>.fromOpaque(loop!).takeUnretainedValue().remove(watch!) },
      { _, loop in Unmanaged<WatchLoop>.fromOpaque(loop!).takeUnretainedValue().wake() },
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

  /// Wakes a reader after what arrived together has been looked at. Only on the connection's thread.
  func afterBurst(_ reader: UnsafeContinuation<Void, Never>) { sleepers.append(reader) }

  private func wakeSleepers() {
    guard !sleepers.isEmpty else { return }
    for reader in sleepers { reader.resume() }
    sleepers.removeAll(keepingCapacity: true)
  }

  /// Hands a message to libdbus, which writes what the socket takes at once; the thread writes the rest.
  /// - Parameter register: runs with the message's serial before any reply to it can be seen.
  func send(_ message: RawMessage, register: ((UInt32, inout State) -> Void)? = nil) throws(DBusError) {
    let failure: DBusError? = loop.ioLock.withLock {
      if let reason = state.withLock({ $0.stopping ? stopped : $0.closeReason }) { return reason }
      var serial: UInt32 = 0
      guard dbus_connection_send(raw, message.pointer, &serial) != 0 else {
        return DBusError(.limitExceeded, "libdbus could not take the message (out of memory, or no descriptors here)")
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

  /// Fails what waits and ends what streams; only the first reason counts.
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

  /// One message off the wire, on the connection's thread.
  private func receive(_ message: OpaquePointer) {
    switch dbus_message_get_type(message) {
    case DBUS_MESSAGE_TYPE_METHOD_RETURN, DBUS_MESSAGE_TYPE_ERROR: receiveReply(message)
    case DBUS_MESSAGE_TYPE_SIGNAL: receiveSignal(message)
    case DBUS_MESSAGE_TYPE_METHOD_CALL: receiveCall(RawMessage(retaining: message))
    default: break
    }
  }
}
