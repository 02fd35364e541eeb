import DBus
import Streams

/// The operations that handles share.
extension SessionCore {
  /// Registers a handler for every change of the cache, which is called on the bus's thread.
  /// - Returns: The identifier for ``stopObserving(_:)``.
  func observe(_ handler: @escaping Observers.Handler) -> Int { state.withLock { $0.observers.add(handler) } }

  /// Registers a closure for the end of the session; it is called at once when the session has ended.
  /// - Returns: The identifier for ``stopObserving(_:)``; `nil` after the end.
  @discardableResult
  func onClose(_ ending: @escaping @Sendable () -> Void) -> Int? {
    let id = state.withLock { $0.isClosed ? nil : $0.observers.add(onClose: ending) }
    if id == nil { ending() }
    return id
  }

  /// The error of everything that is attempted, or still waits, after the end of the session.
  static let closed = BlueZError(.serviceUnavailable, "the session is closed")

  static let noBus = BlueZError(
    .serviceUnavailable, "there is no connection to the message bus",
    hint: "start it: `systemctl start dbus`; in a container, mount /run/dbus")

  /// Returns the error of a stream that finished before it had what a caller waits for.
  func errorOfAnEndedStream() -> any Error { state.withLock { $0.isClosed } ? Self.closed : CancellationError() }

  func stopObserving(_ id: Int) { state.withLock { $0.observers.remove(id) } }

  /// Returns a stream of the elements that `pick` makes of the cache's changes.
  func stream<Element: Sendable>(
    of: Element.Type = Element.self, limit: Int, _ pick: @escaping @Sendable (ObjectCache.Change) -> Element?
  ) -> BoundedStream<Element> {
    streams(limit: limit) { change in pick(change).map { [$0] } ?? [] }
  }

  /// Returns the same stream for a `pick` that may make several elements of one change.
  func streams<Element: Sendable>(
    of: Element.Type = Element.self, limit: Int, _ pick: @escaping @Sendable (ObjectCache.Change) -> [Element]
  ) -> BoundedStream<Element> {
    let ids = Lock<[Int]>([])
    let (stream, source) = BoundedStream.make(
      of: Element.self, limit: limit,
      onTermination: { [weak self] in for id in ids.withLock({ $0 }) { self?.stopObserving(id) } })
    let observer = observe { change in for element in pick(change) { source.yield(element) } }
    ids.withLock { $0 = [observer] }
    if let ending = onClose({ source.finish() }) { ids.withLock { $0.append(ending) } }
    return stream
  }

  /// Waits until `pick` finds a result in the state.
  /// - Throws: ``BlueZError`` with code `.timedOut` that names the phase; errors of `pick`.
  func wait<R: Sendable>(
    _ phase: String, _ limit: Duration, hint: String? = nil,
    _ pick: @escaping @Sendable (borrowing State) throws -> R?
  ) async throws -> R {
    let changes = stream(of: Bool.self, limit: 1) { _ in true }
    if let found = try state.withLock({ try pick($0) }) { return found }
    return try await withTimeout(limit, phase, hint: hint) { [self] in
      for await _ in changes {
        if let found = try state.withLock({ try pick($0) }) { return found }
      }
      throw errorOfAnEndedStream()
    }
  }

  func property(_ path: ObjectPath, _ interface: String, _ name: String) -> Value? {
    state.withLock { $0.cache.properties(path, interface)?[name] }
  }

  /// Returns the connection to the bus.
  /// - Throws: ``BlueZError`` with code `.serviceUnavailable` without one.
  func connection() throws -> Connection {
    guard let connection = state.withLock({ $0.bus.connection }) else {
      throw state.withLock({ $0.isClosed })
        ? Self.closed : Self.noBus
    }
    return connection
  }

  /// A method of one of bluetoothd's objects.
  struct Method: Sendable {
    let path: ObjectPath
    let interface: String
    let member: String
    /// The signature of the reply; `nil` accepts any.
    var returning: Signature? = ""

    init(_ path: ObjectPath, _ interface: String, _ member: String, returning: Signature? = "") {
      self.path = path
      self.interface = interface
      self.member = member
      self.returning = returning
    }
  }

  /// Calls a method of bluetoothd.
  /// - Parameters:
  ///   - doing: The phase, for errors.
  ///   - onArrival: A closure that is called with a reply that is no error before any later signal is processed.
  @discardableResult
  func call(
    _ method: Method, _ arguments: [Value] = [], timeout: Duration? = Connection.defaultTimeout, doing: String,
    onArrival: (@Sendable ([Value]) -> Void)? = nil
  ) async throws -> [Value] {
    let connection = try connection()
    return try await BlueZError.naming(doing) {
      try await connection.call(
        Self.service, method.path, method.interface, method.member, arguments,
        options: .init(returning: method.returning, timeout: timeout, onArrival: onArrival))
    }
  }

  /// Calls a method of bluetoothd that returns nothing.
  func call(
    _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [Value] = [],
    timeout: Duration? = Connection.defaultTimeout, doing: String
  ) async throws {
    try await call(Method(path, interface, member), arguments, timeout: timeout, doing: doing)
  }

  /// Reads all properties of an object again, for changes that bluetoothd did not signal.
  func refresh(_ path: ObjectPath, _ interface: String, doing: String) async throws {
    // The bearer says more of a device's link than the device itself.
    let hasBearer = state.withLock { $0.cache.properties(path, InterfaceName.bearerLE)?["Connected"] != nil }
    if interface == InterfaceName.device, hasBearer {
      try await refresh(path, InterfaceName.bearerLE, doing: doing)
    }
    let connection = try connection()
    _ = try await BlueZError.naming(doing) {
      try await connection.call(
        Self.service, path, InterfaceName.properties, "GetAll", [.string(interface)],
        options: .init(
          returning: "a{sv}",
          onArrival: { [weak self] reply in
            guard let self, let properties = reply[0].properties else { return }
            let (change, observers) = state.withLock { state in
              (state.cache.refresh(path, interface, properties), state.observers.all)
            }
            if let change { for observer in observers { observer(change) } }
          }))
    }
  }

  func set(_ path: ObjectPath, _ interface: String, _ property: String, _ value: Value, doing: String) async throws {
    try await call(
      path, InterfaceName.properties, "Set", [.string(interface), .string(property), .variant(value)],
      doing: doing)
  }

  /// Calls bluetoothd without waiting for the outcome, for cleaning up; a failure is logged.
  func callInBackground(_ path: ObjectPath, _ interface: String, _ member: String, doing: String) {
    Task {
      do {
        try await call(path, interface, member, doing: doing)
      } catch {
        logger.debug("\(doing) failed", metadata: ["error": "\(error)"])
      }
    }
  }
}
