internal import DBus
internal import Logging
internal import Streams

/// Asks logind for inhibitors over one connection, and hears of it when it comes, goes, or is done with a sleep.
struct ActivityBus: Sendable {
  private let connection: Connection
  private let subscriptions: [Subscription]

  /// Connects; `onNews` is called whenever it may be worth to ask, and once more when the connection is lost.
  init(_ bus: Connection.Bus, logger: Logger, onNews: @escaping @Sendable () -> Void) async throws {
    connection = try await .open(bus, logger: logger)
    // Who asks while the machine goes to sleep is refused; afterwards it is not.
    let sleep = MatchRule(
      sender: Logind.name, path: Logind.path, interface: Logind.manager, member: "PrepareForSleep")
    subscriptions = [
      try await connection.observe(sleep, onEnd: onNews) { _ in onNews() },
      try await connection.observeOwner(of: Logind.name) { _ in onNews() },
    ]
  }

  /// Which logind runs, by its unique name; `nil` for none.
  /// - Throws: `DBusError`; `CancellationError`.
  func owner() async throws -> String? { try await connection.owner(of: Logind.name) }

  /// Takes an inhibitor. It is let go when the descriptor is closed.
  /// - Throws: `DBusError`; `CancellationError`.
  func inhibit(_ options: BackgroundActivity.Options) async throws -> FileDescriptor {
    let reply = try await connection.call(
      Logind.name, Logind.path, Logind.manager, "Inhibit",
      ["sleep", .string(options.who), .string(options.why), .string(options.mode.rawValue)], returning: "h",
      timeout: Logind.timeout)
    guard let inhibitor = reply[0].fileDescriptor else {
      throw DBusError(.unexpectedReply, "logind answered Inhibit with \(reply)")
    }
    return inhibitor
  }
}
