import DBus
import Streams
import SystemTesting
import Testing

@Suite("Peer to peer", .timeLimit(.minutes(5)))
struct PeerToPeerTests {
  /// Two ends of one connection without a bus.
  static func pair() async throws -> (listener: Listener, client: Connection, server: Connection) {
    let listener = try Listener("unix:tmpdir=/tmp")
    let client = try await Connection.open(.peer(listener.address))
    let server = try await within {
      for await connection in listener.connections { return connection }
      throw TestTimeout("nobody came")
    }
    return (listener, client, server)
  }

  @Test("Calls, signals and errors pass in both directions without a bus")
  func bothWays() async throws {
    let (listener, client, server) = try await Self.pair()
    #expect(client.uniqueName == nil)
    #expect(server.uniqueName == nil)
    let sender = Lock<String?>("unset")
    let interface = Interface(
      CallTests.interface,
      methods: [
        .init("Double", in: [.init("n", "u")], out: [.init("n", "u")]) { call in
          sender.withLock { $0 = call.sender }
          return [.uint32((call.arguments[0].integer() ?? 0) * 2)]
        }
      ])
    let atServer = try server.export("/here", [interface])
    let atClient = try client.export("/there", [interface])
    #expect(try await client.call(nil, "/here", CallTests.interface, "Double", [.uint32(4)]) == [.uint32(8)])
    #expect(sender.withLock { $0 } == nil)
    #expect(try await server.call(nil, "/there", CallTests.interface, "Double", [.uint32(5)]) == [.uint32(10)])
    let missing = try await dbusError { try await client.call(nil, "/nowhere", CallTests.interface, "Double") }
    #expect(missing?.name == "org.freedesktop.DBus.Error.UnknownObject")
    let seen = Lock(0)
    let subscription = try await client.observe(MatchRule(interface: "org.edgeblue.Any1")) { _ in
      seen.withLock { $0 += 1 }
    }
    try server.emit("/here", "org.edgeblue.Any1", "Tick")
    try server.emit("/here", "org.edgeblue.Other1", "Tick")
    try await client.call(nil, "/here", CallTests.interface, "Double", [.uint32(1)])
    #expect(seen.withLock { $0 } == 1)
    withExtendedLifetime((listener, atServer, atClient, subscription)) {}
  }

  @Test("When one end closes, pending calls and the connection of the other end finish")
  func oneEndGoes() async throws {
    let (listener, client, server) = try await Self.pair()
    let called = WakeSignal()
    let object = try server.export(
      "/stuck",
      [
        Interface(
          CallTests.interface,
          methods: [
            .init("Never") { _ in
              called.signal()
              try await Task.sleep(for: .seconds(3600))
              return []
            }
          ])
      ])
    let call = Task { try await dbusError { try await client.call(nil, "/stuck", CallTests.interface, "Never") } }
    for await _ in called.signals { break }
    server.close()
    let failure = try await within { try await call.value }
    #expect(failure?.code == .disconnected)
    let reason = try await within { try await client.waitUntilClosed() }
    #expect(reason.code == .disconnected)
    withExtendedLifetime((listener, object)) {}
  }

  @Test("A closed listener ends its stream and accepts no further connection")
  func closedListener() async throws {
    let (listener, client, server) = try await Self.pair()
    let address = listener.address
    listener.close()
    try await within { for await _ in listener.connections {} }
    let refused = try await dbusError { try await Connection.open(.peer(address)) }
    #expect(refused?.code == .connectFailed)
    #expect(client.isOpen)
    #expect(server.isOpen)
    #expect(throws: DBusError.self) { try Listener("nonsense") }
  }
}
