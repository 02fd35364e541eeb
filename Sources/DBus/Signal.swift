/// A signal as it came from the bus.
public struct Signal: Sendable, Hashable {
  /// The unique name of the sender; `nil` on a peer-to-peer connection.
  public var sender: String?
  /// The object that sent it.
  public var path: ObjectPath
  /// The interface it belongs to.
  public var interface: String
  /// Its name.
  public var member: String
  /// Its arguments.
  public var arguments: [Value]

  /// Makes a signal, to try what handles them; ``Connection/emit(_:_:_:_:to:)`` sends one.
  public init(sender: String?, path: ObjectPath, interface: String, member: String, arguments: [Value]) {
    self.sender = sender
    self.path = path
    self.interface = interface
    self.member = member
    self.arguments = arguments
  }
}

extension Signal {
  /// The contents of `org.freedesktop.DBus.Properties.PropertiesChanged`; `nil` when this is another signal, or
  /// malformed.
  public var propertiesChanged: (interface: String, changed: [String: Value], invalidated: [String])? {
    guard member == "PropertiesChanged", interface == "org.freedesktop.DBus.Properties", arguments.count == 3,
      let of = arguments[0].string, let changed = arguments[1].properties, let invalidated = arguments[2].strings
    else { return nil }
    return (of, changed, invalidated)
  }
}
