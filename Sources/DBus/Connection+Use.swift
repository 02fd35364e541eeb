internal import CDBus
public import Streams

extension Connection {
  /// Calls a method and waits for its reply, with the default timeout.
  ///
  /// Cancelling the task ends the wait; the peer still runs the method, and its late reply is dropped.
  ///
  /// ```swift
  /// let connection = try await Connection.open(.session)
  /// let reply = try await connection.call(
  ///   "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ListNames", returning: "as")
  /// print(reply[0].strings ?? [])
  /// ```
  /// - Parameters:
  ///   - destination: The bus name of the peer; `nil` on a peer-to-peer connection.
  ///   - path: The path of the object.
  ///   - interface: The interface that has the method.
  ///   - member: The name of the method.
  ///   - arguments: The arguments of the method.
  ///   - returning: The signature that the reply must have; `nil` accepts any.
  /// - Returns: The arguments of the reply.
  /// - Throws: ``DBusError``: `.remote` with the peer's error name, `.timedOut` (the peer may still run the method),
  ///   `.disconnected` (open another connection), `.invalidArgument`, `.unexpectedReply`; or `CancellationError`.
  @discardableResult
  public func call(
    _ destination: String?, _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [Value] = [],
    returning: Signature? = nil
  ) async throws -> [Value] {
    try await call(destination, path, interface, member, arguments, options: CallOptions(returning: returning))
  }

  /// Calls a method and waits for its reply, with options such as another timeout.
  /// - Parameters:
  ///   - destination: The bus name of the peer; `nil` on a peer-to-peer connection.
  ///   - path: The path of the object.
  ///   - interface: The interface that has the method.
  ///   - member: The name of the method.
  ///   - arguments: The arguments of the method.
  ///   - options: The expected signature, the timeout, and a closure for caches.
  /// - Returns: The arguments of the reply.
  /// - Throws: ``DBusError``, as ``call(_:_:_:_:_:returning:)``; `CancellationError`.
  @discardableResult
  public func call(
    _ destination: String?, _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [Value] = [],
    options: CallOptions
  ) async throws -> [Value] {
    let message = try RawMessage.call(destination: destination, path: path, interface: interface, member: member)
    try message.append(arguments)
    return try await core.call(message, options).values
  }

  /// Calls a method without requesting a reply.
  /// - Throws: ``DBusError`` with code `.disconnected` or `.invalidArgument`.
  public func callWithoutReply(
    _ destination: String?, _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [Value] = []
  ) throws {
    let message = try RawMessage.call(destination: destination, path: path, interface: interface, member: member)
    try message.append(arguments)
    dbus_message_set_no_reply(message.pointer, 1)
    try core.send(message)
  }

  /// Sends a signal to one peer or to all subscribers.
  /// - Parameters:
  ///   - path: The path of the object that sends the signal.
  ///   - interface: The interface that declares the signal.
  ///   - member: The name of the signal.
  ///   - arguments: The arguments of the signal.
  ///   - destination: The bus name of the only receiver; `nil` for every peer with a matching rule.
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

  /// Subscribes a handler to matching signals, which runs in the order of the wire and before any later message.
  ///
  /// The handler runs on the connection's own thread: it must return quickly and never wait. It is meant for caches; use
  /// ``signals(_:limit:)`` for everything else.
  /// - Parameters:
  ///   - rule: The rule that the signals match.
  ///   - onEnd: A closure that runs once when the connection has ended; not after ``Subscription/cancel()``.
  ///   - handler: A closure that takes each signal.
  /// - Returns: The subscription, which ends when it is cancelled or its last reference is released.
  /// - Throws: ``DBusError``; `CancellationError`.
  public func observe(
    _ rule: MatchRule, onEnd: @escaping @Sendable () -> Void = {}, handler: @escaping @Sendable (Signal) -> Void
  ) async throws -> Subscription {
    Subscription(core: core, id: try await core.subscribe(rule, handler: handler, onEnd: onEnd))
  }

  /// Returns a stream of the matching signals, which ends with the connection.
  ///
  /// When this returns, the bus has accepted the rule: no later signal is missed, except those that a slow reader drops,
  /// which `BoundedStream.dropped` counts.
  ///
  /// ```swift
  /// let connection = try await Connection.open()
  /// let rule = MatchRule(sender: "org.freedesktop.login1", member: "PrepareForSleep")
  /// for await signal in try await connection.signals(rule) {
  ///   print("sleep:", signal.arguments.first?.bool ?? false)
  /// }
  /// ```
  /// - Parameters:
  ///   - rule: The rule that the signals match.
  ///   - limit: The number of signals that may wait for the reader; beyond that the oldest are dropped.
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

/// The options of a method call.
///
/// ```swift
/// let connection = try await Connection.open()
/// let options = CallOptions(returning: "", timeout: .seconds(60))
/// try await connection.call("org.example.Printer", "/job/7", "org.example.Job", "WaitUntilPrinted", options: options)
/// ```
public struct CallOptions: Sendable {
  /// The signature that the reply must have; `nil` accepts any.
  public var returning: Signature?
  /// The duration after which the call fails with `.timedOut`; `nil` waits until the connection ends.
  public var timeout: Duration?
  /// A closure that takes the arguments of a valid reply on the connection's own thread, before any later signal.
  ///
  /// It fills caches that ``Connection/observe(_:onEnd:handler:)`` keeps current, and must return quickly.
  public var onArrival: (@Sendable ([Value]) -> Void)?

  /// Creates options with the default timeout, if no other one is given.
  public init(
    returning: Signature? = nil, timeout: Duration? = Connection.defaultTimeout,
    onArrival: (@Sendable ([Value]) -> Void)? = nil
  ) {
    self.returning = returning
    self.timeout = timeout
    self.onArrival = onArrival
  }
}

/// A subscription to signals, which ends when it is cancelled or its last reference is released.
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

  /// Ends the subscription; the handler is not called for later signals.
  public func cancel() { core.unsubscribe(id) }
}
