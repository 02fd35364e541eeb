/// An object of a peer: where to call, without saying it each time.
public struct RemoteObject: Sendable {
  /// The connection it is reached over.
  public let connection: Connection
  /// The peer's bus name; `nil` on a peer-to-peer connection.
  public let destination: String?
  /// The object's path.
  public let path: ObjectPath

  static let properties = "org.freedesktop.DBus.Properties"

  /// Names an object; nothing is sent.
  public init(_ connection: Connection, _ destination: String?, _ path: ObjectPath) {
    self.connection = connection
    self.destination = destination
    self.path = path
  }

  /// Calls a method; see ``Connection/call(_:_:_:_:_:returning:timeout:onArrival:)``.
  @discardableResult
  public func call(
    _ interface: String, _ member: String, _ arguments: Value..., returning: Signature? = nil,
    timeout: Duration? = Connection.defaultTimeout
  ) async throws -> [Value] {
    try await connection.call(
      destination, path, interface, member, arguments, returning: returning, timeout: timeout)
  }

  /// Reads a property.
  /// - Throws: ``DBusError``.
  public func get(_ interface: String, _ property: String) async throws -> Value {
    try await call(Self.properties, "Get", .string(interface), .string(property), returning: "v")[0].unwrapped
  }

  /// Writes a property.
  /// - Throws: ``DBusError``.
  public func set(
    _ interface: String, _ property: String, _ value: Value, timeout: Duration? = Connection.defaultTimeout
  ) async throws {
    try await call(
      Self.properties, "Set", .string(interface), .string(property), .variant(value), returning: "", timeout: timeout)
  }

  /// Reads all properties of an interface.
  /// - Throws: ``DBusError``.
  public func getAll(_ interface: String) async throws -> [String: Value] {
    try await call(Self.properties, "GetAll", .string(interface), returning: "a{sv}")[0].properties ?? [:]
  }

  /// Everything an object manager at this path manages: object → interface → property → value.
  /// - Throws: ``DBusError``.
  public func managedObjects() async throws -> [ObjectPath: [String: [String: Value]]] {
    let reply = try await call(
      "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", returning: "a{oa{sa{sv}}}")
    var objects: [ObjectPath: [String: [String: Value]]] = [:]
    for entry in reply[0].entries ?? [] {
      guard let path = entry.key.objectPath else { continue }
      objects[path] = entry.value.interfaces
    }
    return objects
  }
}

extension Value {
  /// An `a{sa{sv}}` as Swift dictionaries: interface → property → value.
  public var interfaces: [String: [String: Value]] {
    var interfaces: [String: [String: Value]] = [:]
    for entry in entries ?? [] {
      if let name = entry.key.string { interfaces[name] = entry.value.properties ?? [:] }
    }
    return interfaces
  }
}
