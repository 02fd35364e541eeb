/// A rule that selects signals by sender, path, interface, name and first argument; `nil` matches everything.
///
/// ```swift
/// let rule = MatchRule(
///   sender: "org.bluez", pathNamespace: "/org/bluez/hci0", interface: "org.freedesktop.DBus.Properties",
///   member: "PropertiesChanged")
/// ```
public struct MatchRule: Sendable, Hashable {
  /// The sender: a unique name, or a well-known name, which matches its current owner.
  public var sender: String?
  /// The path of the object that sends the signal.
  public var path: ObjectPath?
  /// The path of an object whose signals match, with those of all objects below it; excludes ``path``.
  public var pathNamespace: ObjectPath?
  /// The interface that declares the signal.
  public var interface: String?
  /// The name of the signal.
  public var member: String?
  /// The first argument of the signal, if it is a string.
  public var argument0: String?

  /// Creates a rule from the keys to match.
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
      throw DBusError(.invalidArgument, "the match rule has a path and a path namespace; allowed: one of them")
    }
    var parts = ["type='signal'"]
    if let sender { parts.append("sender='\(try Name.check(.bus, sender))'") }
    if let path { parts.append("path='\(path)'") }
    if let pathNamespace { parts.append("path_namespace='\(pathNamespace)'") }
    if let interface { parts.append("interface='\(try Name.check(.interface, interface))'") }
    if let member { parts.append("member='\(try Name.check(.member, member))'") }
    if let argument0 {
      guard !argument0.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "'") || $0 == UInt8(ascii: "\\") }) else {
        throw DBusError(
          .invalidArgument, "argument0 of the match rule is \(argument0.debugDescription); allowed: no ', \\ and NUL")
      }
      parts.append("arg0='\(argument0)'")
    }
    return parts.joined(separator: ",")
  }
}
