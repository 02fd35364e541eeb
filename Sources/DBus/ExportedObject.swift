internal import Streams

/// An object this program serves on the bus. It is there until ``remove()`` is called, its last reference goes, or the
/// connection ends.
public final class ExportedObject: Sendable {
  /// What the connection keeps of an exported object.
  struct Node: Sendable {
    let interfaces: [Interface]
    let isObjectManager: Bool
    let mailbox: BoundedStream<RawMessage>.Source
    /// Tells this object from a later one at the same path.
    let identity: Int
  }

  /// The most calls that wait for one object; beyond that callers get `org.freedesktop.DBus.Error.LimitsExceeded`.
  public static let mailboxLimit = 1024

  /// Where it is.
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
        throw DBusError(.invalidArgument, "there is an exported object at \(path) already")
      }
      let identity = state.nextSubscription
      state.nextSubscription += 1
      state.objects[path] = Node(
        interfaces: interfaces, isObjectManager: isObjectManager, mailbox: mailbox, identity: identity)
      if isObjectManager { state.objectManagers.insert(path) }
      return identity
    }
    // One task per object takes its calls in the order they came.
    worker = Task { for await call in calls { await core.serve(call) } }
    core.announce(path, interfaces)
  }

  deinit {
    remove()
  }

  /// Takes the object off the bus; calls that wait for it are refused, the one that runs is cancelled.
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

  /// Tells everyone of changed properties.
  /// - Parameters:
  ///   - interface: one of the object's interfaces.
  ///   - changed: the new values.
  ///   - invalidated: properties that changed without their value being told.
  /// - Throws: ``DBusError`` with code `.disconnected` or `.invalidArgument`.
  public func emitPropertiesChanged(
    _ interface: String, _ changed: [String: Value], invalidated: [String] = []
  ) throws {
    let message = try RawMessage.signal(path: path, interface: RemoteObject.properties, member: "PropertiesChanged")
    try message.append([.string(interface), .properties(changed), .strings(invalidated)])
    try core.tell(message)
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
  /// Serves an object.
  /// - Parameters:
  ///   - path: where; nothing else of ours may be there.
  ///   - interfaces: what it can do. `Introspectable`, `Properties` and `Peer` come by themselves.
  ///   - objectManager: whether it answers `GetManagedObjects` for everything exported below it, and tells of what
  ///     is added and removed there.
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
