import DBus
import DBusTesting
import Streams
import Testing

/// Who keeps a cache must be able to trust what comes last.
@Suite("Property order", .timeLimit(.minutes(5)))
struct PropertyOrderTests {
  @Test("No reply is older than a change that was signalled before it")
  func answersAreNotStale() async throws {
    let bus = try PrivateBus()
    let peer = try await NamedPeer(bus)
    let value = Lock<UInt32>(0)
    let interface = Interface(
      "org.edgeblue.Counter", properties: [.init("Count", "u", get: { .uint32(value.withLock { $0 }) })])
    let object = try peer.connection.export("/counter", [interface])
    let client = try await bus.connect()
    let newest = Lock<UInt32>(0)
    let subscription = try await client.observe(MatchRule(sender: peer.name, member: "PropertiesChanged")) { signal in
      if let count = signal.propertiesChanged?.changed["Count"]?.integer(as: UInt32.self) {
        newest.withLock { $0 = count }
      }
    }
    let changing = Task.detached {
      for count in UInt32(1)...3_000 {
        value.withLock { $0 = count }
        try object.emitPropertiesChanged("org.edgeblue.Counter", ["Count": .uint32(count)])
      }
    }
    let stale = Lock(0)
    while newest.withLock({ $0 < 3_000 }) {
      try await client.call(
        peer.name, "/counter", "org.freedesktop.DBus.Properties", "GetAll", [.string("org.edgeblue.Counter")],
        options: .init(
          returning: "a{sv}",
          onArrival: { reply in
            let count = reply[0].properties?["Count"]?.integer(as: UInt32.self) ?? 0
            if count < newest.withLock({ $0 }) { stale.withLock { $0 += 1 } }
          }))
    }
    try await changing.value
    #expect(stale.withLock { $0 } == 0)
    subscription.cancel()
  }
}
