internal import DBus
internal import Logging
internal import Streams

/// A connection that requests inhibitors from logind and observes its starts, its stops and the end of a sleep.
struct ActivityBus: Sendable {
  private let connection: Connection
  private let subscriptions: [Subscription]

  /// Connects; `onChange` runs whenever a request may succeed now, and once more when the connection is lost.
  init(_ bus: Connection.Bus, logger: Logger, onChange: @escaping @Sendable () -> Void) async throws {
    connection = try await .open(bus, logger: logger)
    // logind refuses requests while the host goes to sleep, and accepts them afterwards.
    let sleep = MatchRule(
      sender: Logind.name, path: Logind.path, interface: Logind.manager, member: "PrepareForSleep")
    subscriptions = [
      try await connection.observe(sleep, onEnd: onChange) { _ in onChange() },
      try await connection.observeOwner(of: Logind.name) { _ in onChange() },
    ]
  }

  /// Returns the unique name of the running logind; `nil` for none.
  /// - Throws: `DBusError`; `CancellationError`.
  func owner() async throws -> String? { try await connection.owner(of: Logind.name) }

  /// Takes an inhibitor, which closing the descriptor releases.
  /// - Throws: `DBusError`; `CancellationError`.
  func inhibit(_ options: BackgroundActivity.Options) async throws -> FileDescriptor {
    let reply = try await connection.call(
      Logind.name, Logind.path, Logind.manager, "Inhibit",
      ["sleep", .string(options.who), .string(options.why), .string(options.mode.rawValue)],
      options: .init(
        returning: "h",
        timeout: Logind.timeout))
    guard let inhibitor = reply[0].fileDescriptor else {
      throw DBusError(.unexpectedReply, "logind replied to Inhibit with \(reply)")
    }
    return inhibitor
  }
}
