internal import CDBus

/// Checks of D-Bus names. libdbus treats a malformed name as a fault of the program and may abort, so none reaches it
/// unchecked.
enum Name {
  enum Kind: String {
    case bus = "bus name"
    case interface = "interface name"
    case member = "member name"
    case error = "error name"
  }

  @discardableResult
  static func check(_ kind: Kind, _ name: String) throws(DBusError) -> String {
    guard !name.utf8.contains(0) else { throw DBusError(.invalidArgument, "the \(kind.rawValue) contains a NUL") }
    let valid =
      switch kind {
      case .bus: dbus_validate_bus_name(name, nil)
      case .interface: dbus_validate_interface(name, nil)
      case .member: dbus_validate_member(name, nil)
      case .error: dbus_validate_error_name(name, nil)
      }
    guard valid != 0 else { throw DBusError(.invalidArgument, "'\(name)' is not a D-Bus \(kind.rawValue)") }
    return name
  }
}
