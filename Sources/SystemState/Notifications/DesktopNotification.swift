public import DBus

/// A notification on the user's desktop, through `org.freedesktop.Notifications`.
///
/// ```swift
/// let notification = DesktopNotification(from: "EdgeBlue", "The network is back", body: "Mode: Bluetooth Local")
/// try await notification.show()
/// ```
public struct DesktopNotification: Sendable, Hashable {
  /// The urgency of a notification.
  public enum Urgency: UInt8, Sendable, Hashable, CaseIterable {
    /// The user may miss the notification.
    case low = 0
    /// The notification disappears by itself.
    case normal = 1
    /// The notification stays until the user dismisses it.
    case critical = 2
  }

  private static let name = "org.freedesktop.Notifications"
  private static let path: ObjectPath = "/org/freedesktop/Notifications"
  /// The timeout of a call to the desktop.
  private static let timeout: Duration = .seconds(5)

  /// The name of the program for display.
  public var program: String
  /// The title of the notification, a few words.
  public var summary: String
  /// The text below the title, without markup.
  public var body: String
  /// The urgency of the notification.
  public var urgency: Urgency

  /// Creates a notification without showing it.
  public init(from program: String, _ summary: String, body: String = "", urgency: Urgency = .normal) {
    self.program = program
    self.summary = summary
    self.body = body
    self.urgency = urgency
  }

  /// Shows the notification, which stays when the program ends.
  /// - Parameter bus: The bus of the desktop.
  /// - Returns: The desktop's ID of the notification, 1 or more.
  /// - Throws: `DBusError`, also without a bus or a desktop on it; `CancellationError`.
  @discardableResult
  public func show(on bus: Connection.Bus = .session) async throws -> UInt32 {
    let connection = try await Connection.open(bus)
    defer { connection.close() }
    let capabilities = try await connection.call(
      Self.name, Self.path, Self.name, "GetCapabilities", options: .init(returning: "as", timeout: Self.timeout))
    let hasMarkup = capabilities[0].array?.contains { $0.string == "body-markup" } ?? false
    let reply = try await connection.call(
      Self.name, Self.path, Self.name, "Notify",
      [
        .string(program), .uint32(0), "", .string(summary), .string(hasMarkup ? Self.escaped(body) : body),
        .array(of: "s", []), .properties(["urgency": .byte(urgency.rawValue)]), .int32(-1),
      ], options: .init(returning: "u", timeout: Self.timeout))
    guard let number: UInt32 = reply[0].integer() else {
      throw DBusError(.unexpectedReply, "the desktop replied to Notify with \(reply)")
    }
    return number
  }

  /// Returns the text for a desktop that interprets markup.
  private static func escaped(_ text: String) -> String {
    text.map { character in
      switch character {
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      default: String(character)
      }
    }.joined()
  }
}
