internal import CDBus
internal import Streams

/// An error of the bus, of a peer on it, or of this connection.
///
/// A peer's refusal carries the D-Bus error name it was sent with in ``name``; local failures use the names of the
/// D-Bus specification (`org.freedesktop.DBus.Error.NoReply` …), so that a caller can switch on one thing.
public struct DBusError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of failure it was; new codes may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The code in words.
    public let description: String
    init(_ description: String) { self.description = description }

    /// The peer answered with an error; see ``DBusError/name``.
    public static let remote = Code("refused by the peer")
    /// No answer within the call's time-out.
    public static let timedOut = Code("timed out")
    /// The connection ended, or was never there.
    public static let disconnected = Code("disconnected")
    /// A name, path, signature or value that D-Bus does not allow.
    public static let invalidArgument = Code("invalid argument")
    /// The peer's answer does not have the expected type.
    public static let unexpectedReply = Code("unexpected reply")
    /// A limit of this library or of the bus was reached.
    public static let limitExceeded = Code("limit exceeded")
    /// The bus could not be reached or refused the connection.
    public static let connectFailed = Code("connect failed")
  }

  /// The kind of failure.
  public var code: Code
  /// The D-Bus error name, for example `org.bluez.Error.NotReady`.
  public var name: String
  /// The text that came with it.
  public var message: String
  /// What a person can do about it, where that is known.
  public var hint: String?

  /// Makes an error as a peer would send it; throw it from an exported method to answer with that name.
  public init(name: String, message: String) {
    self.init(.remote, message, name: name)
  }

  /// Makes a local error.
  public init(_ code: Code, _ message: String, name: String? = nil, hint: String? = nil) {
    self.code = code
    self.name = name ?? Self.standardName(of: code)
    self.message = message
    self.hint = hint
  }

  /// The name, the message and the hint in one line.
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
  /// Runs a libdbus call that reports through a `DBusError` of its own, and turns that into ours.
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
  /// Runs a body that needs a thread or a descriptor, and reports a refusal of the kernel as `.limitExceeded`.
  static func limited<R>(_ body: () throws(SystemCallError) -> R) throws(DBusError) -> R {
    do {
      return try body()
    } catch {
      throw DBusError(.limitExceeded, "\(error)")
    }
  }
}
