internal import CDBus

/// A well-formed D-Bus type signature: zero or more complete types, such as `a{sv}` or `oa{sv}`.
///
/// ```swift
/// let properties: Signature = "a{sv}"
/// let parsed = try Signature("oa{sa{sv}}")
/// print(properties, parsed)
/// ```
public struct Signature: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// The text of the signature, for example `a{sv}`.
  public let description: String

  /// The signature of a message without arguments.
  public static let empty = Signature(validated: "")

  /// Creates a signature from text and validates it.
  /// - Throws: ``DBusError`` with code `.invalidArgument` and the reason of libdbus.
  public init(_ text: String) throws(DBusError) {
    guard !text.utf8.contains(0) else { throw DBusError(.invalidArgument, "the signature contains a NUL") }
    _ = try DBusError.check(.invalidArgument) { dbus_signature_validate(text, $0) }
    description = text
  }

  /// Creates a signature from a literal; a malformed literal stops the program.
  public init(stringLiteral text: String) {
    precondition(dbus_signature_validate(text, nil) != 0, "'\(text)' is not a D-Bus signature")
    description = text
  }

  /// Creates a signature from text that libdbus has validated, or that consists of valid parts.
  init(validated text: String) { description = text }
}
