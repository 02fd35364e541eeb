internal import CDBus

/// A D-Bus type signature, known to be well-formed: zero or more complete types, such as `a{sv}` or `oa{sv}`.
public struct Signature: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// The signature as text.
  public let description: String

  /// No types at all.
  public static let empty = Signature(validated: "")

  /// Checks and takes a signature.
  /// - Throws: ``DBusError`` with code `.invalidArgument` and libdbus's reason.
  public init(_ text: String) throws(DBusError) {
    guard !text.utf8.contains(0) else { throw DBusError(.invalidArgument, "a signature holds no NUL") }
    _ = try DBusError.check(.invalidArgument) { dbus_signature_validate(text, $0) }
    description = text
  }

  /// A signature written in the program. A malformed literal is a fault of the program and stops it.
  public init(stringLiteral text: String) {
    precondition(dbus_signature_validate(text, nil) != 0, "'\(text)' is not a D-Bus signature")
    description = text
  }

  /// For text that libdbus has already validated, or that this library put together from valid parts.
  init(validated text: String) { description = text }
}
