internal import DBus
internal import Logging

/// A connection that reads logind and observes its changes, starts and stops.
struct LifecycleBus: Sendable {
  private let connection: Connection
  private let subscriptions: [Subscription]
  private let logger: Logger

  /// Connects to the bus and subscribes.
  /// - Parameters:
  ///   - onSleep: A closure that runs at once, in the order of the wire, when logind announces or ends a sleep.
  ///   - onChange: A closure that runs whenever another value may have changed, and once more when the connection is
  ///     lost.
  init(
    _ bus: Connection.Bus, logger: Logger, onSleep: @escaping @Sendable (Bool) -> Void,
    onChange: @escaping @Sendable () -> Void
  ) async throws {
    connection = try await .open(bus, logger: logger)
    self.logger = logger
    // Every signal of the manager: sleep, and new and removed sessions.
    let manager = MatchRule(sender: Logind.name, path: Logind.path, interface: Logind.manager)
    let sessions = MatchRule(
      sender: Logind.name, pathNamespace: Logind.sessions, interface: Logind.properties, member: "PropertiesChanged")
    subscriptions = [
      try await connection.observe(manager, onEnd: onChange) { signal in
        if signal.member == "PrepareForSleep", let isComing = signal.arguments.first?.bool { onSleep(isComing) }
        onChange()
      },
      try await connection.observe(sessions) { _ in onChange() },
      try await connection.observeOwner(of: Logind.name) { _ in onChange() },
    ]
  }

  /// Returns the unique name of the running logind; `nil` for none.
  /// - Throws: `DBusError` with code `.disconnected`; `CancellationError`.
  func owner() async throws -> String? { try await connection.owner(of: Logind.name) }

  /// Reads from a logind that was just found whether the host is about to sleep.
  ///
  /// Only then: where no inhibitor delays the sleep, the property is already false while the host goes to sleep, unlike
  /// the signal.
  /// - Parameter onReply: A closure that runs in the order of the wire.
  func readSleep(onReply: @escaping @Sendable (Bool) -> Void) async throws {
    _ = try await withRefusalsLogged {
      try await connection.call(
        Logind.name, Logind.path, Logind.properties, "Get", [.string(Logind.manager), "PreparingForSleep"],
        options: .init(returning: "v", timeout: Logind.timeout, onArrival: { onReply($0.first?.bool ?? false) }))
    }
  }

  /// Returns the session of this program or, outside of one, the session in which its user is active.
  ///
  /// The result is `nil` without such a session, as for a system service, and when logind refuses.
  /// - Throws: `DBusError` with code `.disconnected`; `CancellationError`.
  func session() async throws -> LoginSession? {
    try await withRefusalsLogged {
      let path = try await connection.call(
        Logind.name, Logind.path, Logind.manager, "GetSession", ["auto"],
        options: .init(returning: "o", timeout: Logind.timeout))
      guard let path = path[0].objectPath else { return nil }
      let reply = try await connection.call(
        Logind.name, path, Logind.properties, "GetAll", [.string(Logind.session)],
        options: .init(
          returning: "a{sv}",
          timeout: Logind.timeout))
      return LoginSession(reply[0].properties ?? [:])
    } ?? nil
  }

  private func withRefusalsLogged<R>(_ call: () async throws -> R) async throws -> R? {
    do {
      return try await call()
    } catch let error as DBusError where error.code != .disconnected {
      // Usual and frequent for a program without a session.
      logger.debug("logind refused a call", metadata: ["error": "\(error)"])
      return nil
    }
  }
}
