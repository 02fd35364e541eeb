internal import Streams

/// An object that this program serves on the bus.
///
/// The object is exported until ``remove()`` is called, its last reference is released, or the connection ends.
///
/// ```swift
/// let connection = try await Connection.open(.session)
/// let version = Interface.Property("Version", .uint32(1))
/// let object = try connection.export("/org/example/app", [Interface("org.example.App", properties: [version])])
/// _ = try await connection.requestName("org.example.App")
/// try await connection.waitUntilClosed()
/// object.remove()
/// ```
public final class ExportedObject: Sendable {
  /// The connection's record of an exported object.
  struct Node: Sendable {
    let interfaces: [Interface]
    let isObjectManager: Bool
    let mailbox: BoundedStream<RawMessage>.Source
    /// Distinguishes this object from a later one at the same path.
    let identity: Int
  }

  /// The number of calls that may wait for one object: 1024.
  ///
  /// Further callers receive `org.freedesktop.DBus.Error.LimitsExceeded`.
  public static let mailboxLimit = 1024

  /// The path at which the object is exported.
  public let path: ObjectPath
  private let core: ConnectionCore
  private let identity: Int
  private let worker: Task<Void, Never>

  init(
    core: ConnectionCore, path: ObjectPath, interfaces: [Interface], isObjectManager: Bool
  ) throws(DBusError) {
    for interface in interfaces { try interface.check() }
    self.core = core
    self.path = path
    let (calls, mailbox) = BoundedStream.make(of: RawMessage.self, limit: Self.mailboxLimit, policy: .dropNewest)
    identity = try core.state.withLock { state throws(DBusError) in
      if let reason = state.closeReason { throw reason }
      guard state.objects[path] == nil else {
        throw DBusError(.invalidArgument, "an object is already exported at \(path)")
      }
      let identity = state.nextSubscription
      state.nextSubscription += 1
      state.objects[path] = Node(
        interfaces: interfaces, isObjectManager: isObjectManager, mailbox: mailbox, identity: identity)
      if isObjectManager { state.objectManagers.insert(path) }
      return identity
    }
    // One task for each object serves its calls in the order of their arrival.
    worker = Task { for await call in calls { await core.serve(call) } }
    core.announce(path, interfaces)
  }

  deinit {
    remove()
  }

  /// Removes the object from the bus; waiting calls are refused, the running one is cancelled.
  public func remove() {
    let node = core.state.withLock { state -> Node? in
      guard let node = state.objects[path], node.identity == identity else { return nil }
      state.objects[path] = nil
      state.objectManagers.remove(path)
      return node
    }
    guard let node else { return }
    node.mailbox.finish()
    worker.cancel()
    core.announceRemoval(path, node.interfaces)
  }

  /// Sends the signal `PropertiesChanged` to all subscribers.
  /// - Parameters:
  ///   - interface: One of the object's interfaces.
  ///   - changed: The new values by property name.
  ///   - invalidated: The properties that changed and whose values are not sent.
  /// - Throws: ``DBusError`` with code `.disconnected` or `.invalidArgument`.
  public func emitPropertiesChanged(
    _ interface: String, _ changed: [String: Value], invalidated: [String] = []
  ) throws {
    let message = try RawMessage.signal(path: path, interface: RemoteObject.properties, member: "PropertiesChanged")
    try message.append([.string(interface), .properties(changed), .strings(invalidated)])
    try core.announce(message)
  }

  /// Sends a signal from this object.
  /// - Throws: ``DBusError`` with code `.disconnected` or `.invalidArgument`.
  public func emit(_ interface: String, _ member: String, _ arguments: [Value] = []) throws {
    let message = try RawMessage.signal(path: path, interface: interface, member: member)
    try message.append(arguments)
    try core.send(message)
  }
}

extension Connection {
  /// Exports an object with its interfaces on this connection.
  /// - Parameters:
  ///   - path: The path of the object, at which this connection exports no other one.
  ///   - interfaces: The interfaces of the object; `Introspectable`, `Properties` and `Peer` are added automatically.
  ///   - objectManager: Whether the object replies to `GetManagedObjects` with all objects below it, and sends signals
  ///     when objects are added and removed there.
  /// - Throws: ``DBusError`` with code `.invalidArgument` or `.disconnected`.
  public func export(
    _ path: ObjectPath, _ interfaces: [Interface] = [], objectManager: Bool = false
  ) throws -> ExportedObject {
    try ExportedObject(core: core, path: path, interfaces: interfaces, isObjectManager: objectManager)
  }
}

extension Interface {
  func check() throws(DBusError) {
    try Name.check(.interface, name)
    for method in methods { try Name.check(.member, method.name) }
    for property in properties { try Name.check(.member, property.name) }
    for signal in signals { try Name.check(.member, signal.name) }
  }
}
