import DBus
import Streams

/// What the handles do with the core.
extension SessionCore {
  /// Has a handler called for every change of the cache, on the bus's thread.
  /// - Returns: the number to stop it with.
  func observe(_ handler: @escaping @Sendable (ObjectCache.Change) -> Void) -> Int {
    state.withLock { state in
      let id = state.nextID
      state.nextID += 1
      state.observers[id] = handler
      return id
    }
  }

  func stopObserving(_ id: Int) {
    state.withLock { $0.observers[id] = nil }
  }

  /// A stream of what `pick` makes of the cache's changes.
  func stream<Element: Sendable>(
    of: Element.Type = Element.self, limit: Int, _ pick: @escaping @Sendable (ObjectCache.Change) -> Element?
  ) -> BoundedStream<Element> {
    streams(limit: limit) { change in pick(change).map { [$0] } ?? [] }
  }

  /// The same for a `pick` that may make several elements of one change.
  func streams<Element: Sendable>(
    of: Element.Type = Element.self, limit: Int, _ pick: @escaping @Sendable (ObjectCache.Change) -> [Element]
  ) -> BoundedStream<Element> {
    let id = Lock<Int?>(nil)
    let (stream, source) = BoundedStream.make(
      of: Element.self, limit: limit,
      onTermination: { [weak self] in if let id = id.withLock({ $0 }) { self?.stopObserving(id) } })
    let observer = observe { change in for element in pick(change) { source.yield(element) } }
    id.withLock { $0 = observer }
    return stream
  }

  /// Waits until `pick` finds something in the cache.
  /// - Throws: ``BlueZError`` with code `.timedOut` that names the phase; what `pick` throws.
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
      throw CancellationError()
    }
  }

  func property(_ path: ObjectPath, _ interface: String, _ name: String) -> Value? {
    state.withLock { $0.cache.properties(path, interface)?[name] }
  }

  /// The connection, or why there is none.
  func connection() throws -> Connection {
    guard let connection = state.withLock({ $0.connection }) else {
      throw BlueZError(.serviceUnavailable, "there is no connection to the message bus")
    }
    return connection
  }

  /// Calls bluetoothd.
  /// - Parameter doing: the phase, for errors.
  @discardableResult
  func call(
    _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [Value] = [], returning: Signature? = "",
    timeout: Duration? = Connection.defaultTimeout, doing: String
  ) async throws -> [Value] {
    let connection = try connection()
    return try await BlueZError.naming(doing) {
      try await connection.call(
        Self.service, path, interface, member, arguments, returning: returning, timeout: timeout)
    }
  }

  /// Reads all properties of an object anew, for where bluetoothd forgets to tell of a change.
  func refresh(_ path: ObjectPath, _ interface: String, doing: String) async throws {
    let connection = try connection()
    _ = try await BlueZError.naming(doing) {
      try await connection.call(
        Self.service, path, "org.freedesktop.DBus.Properties", "GetAll", [.string(interface)], returning: "a{sv}",
        onArrival: { [weak self] reply in
          guard let self, let properties = reply[0].properties else { return }
          let (change, observers) = state.withLock { state in
            (state.cache.refresh(path, interface, properties), Array(state.observers.values))
          }
          if let change { for observer in observers { observer(change) } }
        })
    }
  }

  func set(_ path: ObjectPath, _ interface: String, _ property: String, _ value: Value, doing: String) async throws {
    try await call(
      path, "org.freedesktop.DBus.Properties", "Set", [.string(interface), .string(property), .variant(value)],
      doing: doing)
  }

  /// The session's discovery at an adapter, if it ever ran one.
  func discovery(at path: ObjectPath) -> DiscoveryRegistration? {
    state.withLock { state in
      state.cache.properties(path, Adapter.interface)?["Address"]?.string
        .flatMap(BluetoothAddress.init).flatMap { state.discoveries[$0] }
    }
  }

  /// Calls bluetoothd and lets nobody wait for the outcome; for tidying up.
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
