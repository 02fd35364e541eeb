/// An object of a peer, with methods to call it and to read and write its properties.
///
/// ```swift
/// let connection = try await Connection.open()
/// let adapter = RemoteObject(connection, "org.bluez", "/org/bluez/hci0")
/// print(try await adapter.get("org.bluez.Adapter1", "Address").string ?? "?")
/// try await adapter.set("org.bluez.Adapter1", "Powered", true)
/// ```
public struct RemoteObject: Sendable {
  /// The connection that carries the calls.
  public let connection: Connection
  /// The bus name of the peer; `nil` on a peer-to-peer connection.
  public let destination: String?
  /// The path of the object.
  public let path: ObjectPath

  static let properties = "org.freedesktop.DBus.Properties"

  /// Creates a reference to an object without sending a message.
  public init(_ connection: Connection, _ destination: String?, _ path: ObjectPath) {
    self.connection = connection
    self.destination = destination
    self.path = path
  }

  /// Calls a method of the object and waits for its reply.
  /// - Parameters:
  ///   - interface: The interface that has the method.
  ///   - member: The name of the method.
  ///   - arguments: The arguments of the method.
  ///   - returning: The signature that the reply must have; `nil` accepts any.
  ///   - timeout: The duration after which the call fails; `nil` waits until the connection ends.
  /// - Returns: The arguments of the reply.
  /// - Throws: ``DBusError``, as ``Connection/call(_:_:_:_:_:returning:)``; `CancellationError`.
  @discardableResult
  public func call(
    _ interface: String, _ member: String, _ arguments: Value..., returning: Signature? = nil,
    timeout: Duration? = Connection.defaultTimeout
  ) async throws -> [Value] {
    try await connection.call(
      destination, path, interface, member, arguments, options: CallOptions(returning: returning, timeout: timeout))
  }

  /// Reads a property of the object.
  /// - Throws: ``DBusError``.
  public func get(_ interface: String, _ property: String) async throws -> Value {
    try await call(Self.properties, "Get", .string(interface), .string(property), returning: "v")[0].unwrapped
  }

  /// Writes a property of the object.
  /// - Throws: ``DBusError``.
  public func set(
    _ interface: String, _ property: String, _ value: Value, timeout: Duration? = Connection.defaultTimeout
  ) async throws {
    try await call(
      Self.properties, "Set", .string(interface), .string(property), .variant(value), returning: "", timeout: timeout)
  }

  /// Reads all properties of one of the object's interfaces.
  /// - Throws: ``DBusError``.
  public func getAll(_ interface: String) async throws -> [String: Value] {
    try await call(Self.properties, "GetAll", .string(interface), returning: "a{sv}")[0].properties ?? [:]
  }

  /// Reads all objects of the object manager at this path: object → interface → property → value.
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
  /// The contents of an `a{sa{sv}}` as Swift dictionaries: interface → property → value.
  public var interfaces: [String: [String: Value]] {
    var interfaces: [String: [String: Value]] = [:]
    for entry in entries ?? [] {
      if let name = entry.key.string { interfaces[name] = entry.value.properties ?? [:] }
    }
    return interfaces
  }
}
