internal import CDBus
public import Streams

extension Connection {
  /// Calls a method and waits for its reply.
  ///
  /// Cancelling the task ends the wait; the peer still runs the method, and its late reply is dropped.
  /// - Parameters:
  ///   - destination: the bus name of the peer; `nil` on a peer-to-peer connection.
  ///   - path: the object.
  ///   - interface: the interface.
  ///   - member: the method.
  ///   - arguments: what to send.
  ///   - returning: the signature the reply must have; `nil` takes any.
  ///   - timeout: how long to wait; `nil` waits until the connection ends.
  ///   - onArrival: sees the reply's arguments on the connection's own thread, before any signal that came after
  ///     it: what a cache is filled with. Must return quickly. Not called when the call fails.
  /// - Returns: the reply's arguments.
  /// - Throws: ``DBusError``: `.remote` with the peer's error name, `.timedOut`, `.disconnected`,
  ///   `.invalidArgument`, `.unexpectedReply`; or `CancellationError`.
  @discardableResult
  public func call(
    _ destination: String?, _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [Value] = [],
    returning: Signature? = nil, timeout: Duration? = Connection.defaultTimeout,
    onArrival: (@Sendable ([Value]) -> Void)? = nil
  ) async throws -> [Value] {
    let message = try RawMessage.call(destination: destination, path: path, interface: interface, member: member)
    try message.append(arguments)
    let reply = try await core.call(message, returning: returning, timeout: timeout, onArrival: onArrival)
    return reply.values
  }

  /// Calls a method and asks for no reply.
  /// - Throws: ``DBusError`` with code `.disconnected` or `.invalidArgument`.
  public func callWithoutReply(
    _ destination: String?, _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [Value] = []
  ) throws {
    let message = try RawMessage.call(destination: destination, path: path, interface: interface, member: member)
    try message.append(arguments)
    dbus_message_set_no_reply(message.pointer, 1)
    try core.send(message)
  }

  /// Sends a signal.
  /// - Parameters:
  ///   - path: the object it comes from.
  ///   - interface: the interface.
  ///   - member: the signal.
  ///   - arguments: what to send.
  ///   - destination: one receiver; `nil` sends to everyone who asked.
  /// - Throws: ``DBusError`` with code `.disconnected` or `.invalidArgument`.
  public func emit(
    _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [Value] = [], to destination: String? = nil
  ) throws {
    let message = try RawMessage.signal(path: path, interface: interface, member: member)
    if let destination {
      try Name.check(.bus, destination)
      guard dbus_message_set_destination(message.pointer, destination) != 0 else {
        throw DBusError(.limitExceeded, "libdbus ran out of memory")
      }
    }
    try message.append(arguments)
    try core.send(message)
  }

  /// Has a handler called for every matching signal, in the order of the wire and before anything that came later.
  ///
  /// The handler runs on the connection's own thread: it must return quickly and never wait. It is what caches are
  /// kept with; everyone else wants ``signals(_:limit:)``.
  /// - Parameters:
  ///   - rule: which signals.
  ///   - onEnd: called once when the connection has ended; not after ``Subscription/cancel()``.
  ///   - handler: gets each of them.
  /// - Returns: the subscription; it ends when this is cancelled or its last reference goes.
  /// - Throws: ``DBusError``; `CancellationError`.
  public func observe(
    _ rule: MatchRule, onEnd: @escaping @Sendable () -> Void = {}, handler: @escaping @Sendable (Signal) -> Void
  ) async throws -> Subscription {
    Subscription(core: core, id: try await core.subscribe(rule, handler: handler, onEnd: onEnd))
  }

  /// The matching signals as a stream; it ends with the connection.
  ///
  /// When this returns the bus has taken the rule: nothing sent from now on is missed, except what a slow reader has
  /// no room for, and ``BoundedStream/dropped`` counts that.
  /// - Parameters:
  ///   - rule: which signals.
  ///   - limit: how many signals may wait for the reader; beyond that the oldest go.
  /// - Throws: ``DBusError``; `CancellationError`.
  public func signals(_ rule: MatchRule, limit: Int = 256) async throws -> BoundedStream<Signal> {
    let held = Lock<Subscription?>(nil)
    let (stream, source) = BoundedStream.make(
      of: Signal.self, limit: limit, onTermination: { held.withLock { $0 = nil } })
    let subscription = try await observe(rule, onEnd: { source.finish() }) { [weak core] signal in
      // Signals come in bursts: the reader is woken once for all that arrived together.
      if let reader = source.yieldQuietly(signal).waiter { core?.afterBurst(reader) }
    }
    held.withLock { $0 = subscription }
    return stream
  }
}

/// A subscription to signals; ends when cancelled, or with its last reference.
public final class Subscription: Sendable {
  private let core: ConnectionCore
  private let id: Int

  init(core: ConnectionCore, id: Int) {
    self.core = core
    self.id = id
  }

  deinit {
    core.unsubscribe(id)
  }

  /// Ends the subscription now.
  public func cancel() { core.unsubscribe(id) }
}
