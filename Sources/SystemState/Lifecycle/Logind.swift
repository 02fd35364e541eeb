internal import DBus

/// The names of logind on the bus.
enum Logind {
  static let name = "org.freedesktop.login1"
  static let path: ObjectPath = "/org/freedesktop/login1"
  static let sessions: ObjectPath = "/org/freedesktop/login1/session"
  static let manager = "org.freedesktop.login1.Manager"
  static let session = "org.freedesktop.login1.Session"
  static let properties = "org.freedesktop.DBus.Properties"
  /// The timeout of a call to logind.
  static let timeout: Duration = .seconds(5)
}

extension LoginSession {
  /// Creates a session from its properties; `nil` if `Active` is missing.
  init?(_ properties: [String: Value]) {
    guard let isActive = properties["Active"]?.bool else { return nil }
    self.init(
      isActive: isActive, isLocked: properties["LockedHint"]?.bool ?? false,
      isIdle: properties["IdleHint"]?.bool ?? false)
  }
}
