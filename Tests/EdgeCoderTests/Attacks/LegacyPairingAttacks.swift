import BlueZ
import EdgeCoder
import EdgeCoderTesting
import Streams
import Testing

/// Bonds from legacy pairing, whose keys everybody who heard it can compute.
@Suite("Bonds from legacy pairing", .timeLimit(.minutes(5))) struct LegacyPairingAttacks {
  @Test("An authenticated phone serves a central that compared a number over LE Secure Connections")
  func secureConnectionsAreServed() async throws {
    let air = try await FakeTrust.start()
    let transport = try await air.phone(0, access: .authenticated())
    let phone = PhoneService(transport: transport, engine: CuriousEngine())
    try await running([phone.run]) {
      try await air.pair(1, with: 0, compares: true)
      let central = try await air.central(1, access: .authenticated())
      try await running([central.run]) {
        try await central.waitUntilReady()
        #expect(try await central.generate(prompt: "hello", maxTokens: nil).answer.output == "hello")
      }
    }
    try await transport.stop()
    try await air.stop()
  }

  @Test("An authenticated phone serves no bond from legacy pairing, and none without a comparison")
  func legacyBondsAreNotServed() async throws {
    for isLegacy in [true, false] {
      let air = try await FakeTrust.start()
      if isLegacy { air.lab.adapters[1].inject(.pairsWithoutSecureConnections) }
      let transport = try await air.phone(0, access: .authenticated())
      let phone = PhoneService(transport: transport, engine: CuriousEngine())
      try await running([phone.run]) {
        try await air.pair(1, with: 0, compares: isLegacy)
        // Open, so that only the phone decides.
        let central = try await air.central(1, access: .open)
        try await running([central.run]) {
          try await central.waitForRefusal("rejects the present bond")
        }
        try await refusesEveryAccess(try await air.device(0, seenBy: 1))
        #expect(await phone.snapshot().counters.requests == 0)
      }
      try await transport.stop()
      try await air.stop()
    }
  }

  private func refusesEveryAccess(_ device: Device) async throws {
    try await device.connect()
    let service = BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)
    func characteristic(_ uuid: String) throws -> RemoteCharacteristic {
      try device.characteristic(BluetoothUUID(stringLiteral: uuid), in: service)
    }
    for uuid in [EdgeCoderUUIDs.response, EdgeCoderUUIDs.status] {
      let readable = try characteristic(uuid)
      await #expect(throws: BlueZError.self, "\(uuid)") { try await readable.read() }
      await #expect(throws: BlueZError.self, "\(uuid)") { try await readable.notifications() }
    }
    let request = try characteristic(EdgeCoderUUIDs.request)
    await #expect(throws: BlueZError.self) { try await request.write(Array(#"{"id":"1","prompt":"hello"}"#.utf8)) }
  }

  /// The phone is an impostor with the keys of a legacy pairing: it demands authentication, and accepts everything.
  @Test("A central in the authenticated mode does not take a phone's word for its keys")
  func aPhoneWithLegacyKeysReceivesNothing() async throws {
    let air = try await FakeTrust.start()
    let impostor = Impostor()
    let taken = try await impostor.start(on: try await air.lab.adapter(0))
    air.lab.adapters[0].inject(.pairsWithoutSecureConnections)
    try await air.pair(1, with: 0, compares: true)
    let central = try await air.central(1, access: .authenticated())
    try await running([central.run]) {
      try await central.waitForRefusal("was not paired by passkey entry or numeric comparison with LE Secure")
    }
    #expect(impostor.writes.withLock { $0 } == 0)
    withExtendedLifetime(taken) {}
    try await air.stop()
  }

  private final class Impostor: Sendable {
    let writes = Lock(0)

    /// Offers the service as an authenticated phone does, without any protection.
    func start(on adapter: Adapter) async throws -> (GATTApplication, Advertisement) {
      func characteristic(
        _ uuid: String, _ flags: CharacteristicFlags, value: String = ""
      ) -> LocalCharacteristic {
        LocalCharacteristic(
          BluetoothUUID(stringLiteral: uuid), flags, read: { _ in Array(value.utf8) },
          writes: .handler { [writes] _ in writes.withLock { $0 += 1 } })
      }
      let service = BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)
      let application = try await adapter.offer([
        LocalService(
          service,
          characteristics: [
            characteristic(EdgeCoderUUIDs.request, [.write, .writeWithoutResponse]),
            characteristic(EdgeCoderUUIDs.response, [.read, .notify]),
            characteristic(EdgeCoderUUIDs.status, [.read, .notify], value: #"{"modelState":"ready"}"#),
            characteristic(EdgeCoderUUIDs.access, .read, value: "authenticated"),
          ])
      ])
      return (application, try await adapter.advertise(.init(name: "EdgeCoder-0", services: [service])))
    }
  }
}
