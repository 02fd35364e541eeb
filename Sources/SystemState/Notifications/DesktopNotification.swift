public import DBus

/// A message to the person at the screen, through `org.freedesktop.Notifications`.
public struct DesktopNotification: Sendable, Hashable {
  /// How much it matters.
  public enum Urgency: UInt8, Sendable, Hashable, CaseIterable {
    /// It may be missed.
    case low = 0
    /// It goes away by itself.
    case normal = 1
    /// It stays until the person has seen it.
    case critical = 2
  }

  private static let name = "org.freedesktop.Notifications"
  private static let path: ObjectPath = "/org/freedesktop/Notifications"
  /// How long a desktop may take to answer.
  private static let timeout: Duration = .seconds(5)

  /// Which program it comes from.
  public var program: String
  /// What it is about, in a few words.
  public var summary: String
  /// The rest; plain text.
  public var body: String
  /// How much it matters.
  public var urgency: Urgency

  /// Makes a message.
  public init(from program: String, _ summary: String, body: String = "", urgency: Urgency = .normal) {
    self.program = program
    self.summary = summary
    self.body = body
    self.urgency = urgency
  }

  /// Shows it. It stays when the program ends.
  /// - Parameter bus: where the desktop is asked.
  /// - Returns: the desktop's number for it, 1 or more.
  /// - Throws: `DBusError`, also when there is no bus and no desktop on it; `CancellationError`.
  @discardableResult
  public func show(on bus: Connection.Bus = .session) async throws -> UInt32 {
    let connection = try await Connection.open(bus)
    defer { connection.close() }
    let capabilities = try await connection.call(
      Self.name, Self.path, Self.name, "GetCapabilities", returning: "as", timeout: Self.timeout)
    let hasMarkup = capabilities[0].array?.contains { $0.string == "body-markup" } ?? false
    let reply = try await connection.call(
      Self.name, Self.path, Self.name, "Notify",
      [
        .string(program), .uint32(0), "", .string(summary), .string(hasMarkup ? Self.escaped(body) : body),
        .array(of: "s", []), .properties(["urgency": .byte(urgency.rawValue)]), .int32(-1),
      ], returning: "u", timeout: Self.timeout)
    guard let number: UInt32 = reply[0].integer() else {
      throw DBusError(.unexpectedReply, "the desktop answered Notify with \(reply)")
    }
    return number
  }

  /// The text where `<` and `&` are markup.
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
