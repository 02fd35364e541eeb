/// A signal that was received from the bus.
public struct Signal: Sendable, Hashable {
  /// The unique name of the sender; `nil` on a peer-to-peer connection.
  public var sender: String?
  /// The path of the object that sent the signal.
  public var path: ObjectPath
  /// The interface that declares the signal.
  public var interface: String
  /// The name of the signal.
  public var member: String
  /// The arguments of the signal.
  public var arguments: [Value]

  /// Creates a signal for tests of handlers; ``Connection/emit(_:_:_:_:to:)`` sends one.
  public init(sender: String?, path: ObjectPath, interface: String, member: String, arguments: [Value]) {
    self.sender = sender
    self.path = path
    self.interface = interface
    self.member = member
    self.arguments = arguments
  }
}

extension Signal {
  /// The contents of `org.freedesktop.DBus.Properties.PropertiesChanged`; `nil` for another or a malformed signal.
  public var propertiesChanged: (interface: String, changed: [String: Value], invalidated: [String])? {
    guard member == "PropertiesChanged", interface == "org.freedesktop.DBus.Properties", arguments.count == 3,
      let of = arguments[0].string, let changed = arguments[1].properties, let invalidated = arguments[2].strings
    else { return nil }
    return (of, changed, invalidated)
  }
}
