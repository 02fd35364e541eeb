internal import CDBus
internal import Streams

/// An error of the bus, of a peer on it, or of this connection.
///
/// An error reply of a peer has its D-Bus error name in ``name``; local failures use the names of the D-Bus specification
/// (`org.freedesktop.DBus.Error.NoReply` …), so that a caller can switch over one property:
///
/// ```swift
/// let connection = try await Connection.open()
/// do {
///   try await connection.call("org.bluez", "/org/bluez/hci0", "org.bluez.Adapter1", "StartDiscovery")
/// } catch let error as DBusError where error.name == "org.bluez.Error.NotReady" {
///   print("the adapter is off")
/// } catch let error as DBusError where error.code == .timedOut {
///   print("no reply")
/// }
/// ```
public struct DBusError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of a failure; new codes may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name of the code for display.
    public let description: String
    init(_ description: String) { self.description = description }

    /// The peer replied with an error, whose name is in ``DBusError/name``.
    public static let remote = Code("refused by the peer")
    /// No reply arrived within the call's timeout.
    public static let timedOut = Code("timed out")
    /// The connection has ended, so that a new one is needed.
    public static let disconnected = Code("disconnected")
    /// A name, path, signature or value is one that D-Bus does not allow.
    public static let invalidArgument = Code("invalid argument")
    /// The peer's reply does not have the expected signature.
    public static let unexpectedReply = Code("unexpected reply")
    /// A limit of this library, of the process or of the bus was reached.
    public static let limitExceeded = Code("limit exceeded")
    /// The bus could not be reached or refused the connection.
    public static let connectFailed = Code("connect failed")
  }

  /// The kind of the failure.
  public var code: Code
  /// The D-Bus error name, for example `org.bluez.Error.NotReady`.
  public var name: String
  /// The text of the error, for display.
  public var message: String
  /// The remedy that a user can try, if one is known.
  public var hint: String?

  /// Creates an error that an exported method throws to reply with this D-Bus error name.
  public init(name: String, message: String) {
    self.init(.remote, message, name: name)
  }

  /// Creates an error of this process, such as a timeout.
  public init(_ code: Code, _ message: String, name: String? = nil, hint: String? = nil) {
    self.code = code
    self.name = name ?? Self.standardName(of: code)
    self.message = message
    self.hint = hint
  }

  /// The name, the message and the hint in one line, for display.
  public var description: String {
    "\(name): \(message)" + (hint.map { " (\($0))" } ?? "")
  }

  private static func standardName(of code: Code) -> String {
    let suffix =
      switch code {
      case .timedOut: "NoReply"
      case .disconnected: "Disconnected"
      case .invalidArgument: "InvalidArgs"
      case .unexpectedReply: "InvalidSignature"
      case .limitExceeded: "LimitsExceeded"
      case .connectFailed: "NoServer"
      default: "Failed"
      }
    return "org.freedesktop.DBus.Error." + suffix
  }
}

extension DBusError {
  /// Calls libdbus and converts its `DBusError` to this one.
  static func check<R>(_ code: Code, _ body: (UnsafeMutablePointer<CDBus.DBusError>) -> R) throws(DBusError) -> R {
    var error = CDBus.DBusError()
    dbus_error_init(&error)
    defer { dbus_error_free(&error) }
    let result = body(&error)
    guard dbus_error_is_set(&error) == 0 else {
      throw DBusError(
        code, error.message.map { String(cString: $0) } ?? "",
        name: error.name.map { String(cString: $0) })
    }
    return result
  }
}

extension DBusError {
  /// Calls a closure that needs a thread or a descriptor, and reports a refusal of the kernel as `.limitExceeded`.
  static func limited<R>(_ body: () throws(SystemCallError) -> R) throws(DBusError) -> R {
    do {
      return try body()
    } catch {
      throw DBusError(.limitExceeded, "\(error)")
    }
  }
}
