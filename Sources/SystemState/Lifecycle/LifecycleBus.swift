internal import DBus
internal import Logging

/// Asks logind over one connection, and hears of it when it has something new, comes or goes.
struct LifecycleBus: Sendable {
  private let connection: Connection
  private let subscriptions: [Subscription]
  private let logger: Logger

  /// Connects.
  /// - Parameters:
  ///   - onSleep: called at once, in the order of the wire, when logind says whether the machine will sleep.
  ///   - onNews: called whenever there may be something else new, and once more when the connection is lost.
  init(
    _ bus: Connection.Bus, logger: Logger, onSleep: @escaping @Sendable (Bool) -> Void,
    onNews: @escaping @Sendable () -> Void
  ) async throws {
    connection = try await .open(bus, logger: logger)
    self.logger = logger
    // Every signal of the manager: of sleep, and of sessions that come and go.
    let manager = MatchRule(sender: Logind.name, path: Logind.path, interface: Logind.manager)
    let sessions = MatchRule(
      sender: Logind.name, pathNamespace: Logind.sessions, interface: Logind.properties, member: "PropertiesChanged")
    subscriptions = [
      try await connection.observe(manager, onEnd: onNews) { signal in
        if signal.member == "PrepareForSleep", let isComing = signal.arguments.first?.bool { onSleep(isComing) }
        onNews()
      },
      try await connection.observe(sessions) { _ in onNews() },
      try await connection.observeOwner(of: Logind.name) { _ in onNews() },
    ]
  }

  /// Which logind runs, by its unique name; `nil` for none.
  /// - Throws: `DBusError` with code `.disconnected`; `CancellationError`.
  func owner() async throws -> String? { try await connection.owner(of: Logind.name) }

  /// Asks a logind that has just been found whether the machine is about to sleep.
  ///
  /// Only then: where nothing delays the sleep, the property is false again while the machine goes to sleep, and the
  /// signal is not.
  /// - Parameter onAnswer: called in the order of the wire.
  func askForSleep(onAnswer: @escaping @Sendable (Bool) -> Void) async throws {
    _ = try await asking {
      try await connection.call(
        Logind.name, Logind.path, Logind.properties, "Get", [.string(Logind.manager), "PreparingForSleep"],
        returning: "v", timeout: Logind.timeout
      ) { onAnswer($0.first?.bool ?? false) }
    }
  }

  /// The session of this program or, where it is in none, that in which its user sits; `nil` where there is neither, as
  /// for a system service, or logind does not say.
  /// - Throws: `DBusError` with code `.disconnected`; `CancellationError`.
  func session() async throws -> LoginSession? {
    try await asking {
      let path = try await connection.call(
        Logind.name, Logind.path, Logind.manager, "GetSession", ["auto"], returning: "o", timeout: Logind.timeout)
      guard let path = path[0].objectPath else { return nil }
      let reply = try await connection.call(
        Logind.name, path, Logind.properties, "GetAll", [.string(Logind.session)], returning: "a{sv}",
        timeout: Logind.timeout)
      return LoginSession(reply[0].properties ?? [:])
    } ?? nil
  }

  private func asking<R>(_ ask: () async throws -> R) async throws -> R? {
    do {
      return try await ask()
    } catch let error as DBusError where error.code != .disconnected {
      // Said of every program without a session, again and again.
      logger.debug("logind does not say", metadata: ["error": "\(error)"])
      return nil
    }
  }
}
