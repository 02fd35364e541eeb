import DBus
import DBusTesting
import Testing

/// A peer of ours on a bus: its connection and the name it owns.
struct NamedPeer {
  let connection: Connection
  let name: String

  init(_ bus: PrivateBus, _ name: String = "org.edgeblue.Test") async throws {
    connection = try await bus.connect()
    self.name = name
    #expect(try await connection.requestName(name) == .owner)
  }
}
