/// Which signals to receive. Every key that is left out matches everything.
public struct MatchRule: Sendable, Hashable {
  /// The sender: a unique name, or a well-known name, which follows its owner.
  public var sender: String?
  /// The object that sends.
  public var path: ObjectPath?
  /// An object whose own signals and those of everything below it match; not together with ``path``.
  public var pathNamespace: ObjectPath?
  /// The interface.
  public var interface: String?
  /// The signal's name.
  public var member: String?
  /// The first argument, when it is a string.
  public var argument0: String?

  /// Makes a rule.
  public init(
    sender: String? = nil, path: ObjectPath? = nil, pathNamespace: ObjectPath? = nil, interface: String? = nil,
    member: String? = nil, argument0: String? = nil
  ) {
    self.sender = sender
    self.path = path
    self.pathNamespace = pathNamespace
    self.interface = interface
    self.member = member
    self.argument0 = argument0
  }

  /// The rule in the bus's own syntax.
  /// - Throws: ``DBusError`` with code `.invalidArgument` when a part is not a well-formed name.
  func text() throws(DBusError) -> String {
    guard path == nil || pathNamespace == nil else {
      throw DBusError(.invalidArgument, "a match rule takes a path or a path namespace, not both")
    }
    var parts = ["type='signal'"]
    if let sender { parts.append("sender='\(try Name.check(.bus, sender))'") }
    if let path { parts.append("path='\(path)'") }
    if let pathNamespace { parts.append("path_namespace='\(pathNamespace)'") }
    if let interface { parts.append("interface='\(try Name.check(.interface, interface))'") }
    if let member { parts.append("member='\(try Name.check(.member, member))'") }
    if let argument0 {
      guard !argument0.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "'") || $0 == UInt8(ascii: "\\") }) else {
        throw DBusError(.invalidArgument, "an argument in a match rule holds no quote, backslash or NUL")
      }
      parts.append("arg0='\(argument0)'")
    }
    return parts.joined(separator: ",")
  }
}
