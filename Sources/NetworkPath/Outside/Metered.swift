internal import DBus
internal import Streams
internal import Timing

/// What NetworkManager says about the cost of traffic, without its "unknown".
enum Metered: Sendable, Hashable {
  /// Somebody has said that it is metered.
  case yes
  /// NetworkManager thinks so.
  case probably
  /// It is not, or NetworkManager thinks so.
  case no

  /// - Parameter number: an `NMMetered`.
  init?(_ number: UInt32?) {
    switch number {
    case 1: self = .yes
    case 2, 4: self = .no
    case 3: self = .probably
    default: return nil
    }
  }
}

/// Follows NetworkManager's property `Metered`, which is that of the connection with the default route.
struct MeteredWatch: Sendable {
  private static let name = "org.freedesktop.NetworkManager"
  private static let path: ObjectPath = "/org/freedesktop/NetworkManager"
  /// When a bus that is not there is looked for again.
  private static let retry: Duration = .seconds(60)
  /// How long NetworkManager may take to answer.
  private static let timeout: Duration = .seconds(5)

  let bus: Connection.Bus
  /// Gets every answer, and `nil` whenever there is nobody to ask.
  let report: @Sendable (Metered?) -> Void

  /// Until the task is cancelled.
  func run() async {
    while !Task.isCancelled {
      do {
        try await follow()
      } catch {
        // No bus, or a broken one: then there is nobody to ask, which is all that is to be known.
      }
      report(nil)
      do { try await Task.sleep(for: Self.retry, clock: .steady) } catch { return }
    }
  }

  /// Until the bus is gone.
  private func follow() async throws {
    let connection = try await Connection.open(bus)
    let (news, source) = BoundedStream.make(of: Void.self, limit: 1)
    let properties = MatchRule(
      sender: Self.name, path: Self.path, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged")
    let changes = try await connection.observe(properties, onEnd: { source.finish() }) { signal in
      if signal.propertiesChanged?.changed["Metered"] != nil { source.yield(()) }
    }
    let owners = try await connection.observeOwner(of: Self.name) { _ in source.yield(()) }
    report(try await metered(connection))
    for await _ in news { report(try await metered(connection)) }
    withExtendedLifetime((changes, owners)) {}
  }

  private func metered(_ connection: Connection) async throws -> Metered? {
    // Asked for only when it runs: a call would start it.
    guard try await connection.owner(of: Self.name) != nil else { return nil }
    do {
      let value = try await connection.call(
        Self.name, Self.path, "org.freedesktop.DBus.Properties", "Get", [.string(Self.name), .string("Metered")],
        returning: "v", timeout: Self.timeout)
      return Metered(value[0].unwrapped.integer(as: UInt32.self))
    } catch let error as DBusError where error.code != .disconnected {
      // Older than 1.2, gone again, or not willing to say.
      return nil
    }
  }
}
