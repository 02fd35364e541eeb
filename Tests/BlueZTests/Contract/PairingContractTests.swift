import BlueZ
import BlueZTesting
import Streams
import Testing

extension ContractTests {
  private static let secret: BluetoothUUID = "ec0d0005-ec0d-ec0d-ec0d-ec0d0005ec0d"

  private static let protectedService = LocalService(
    Parlour.service, characteristics: [LocalCharacteristic(secret, [.read, .encryptRead], read: { _ in [42] })])

  @Test("A protected value is readable only after numeric comparison, and the bond survives a restart")
  func pairing() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let application = try await phone.offer([Self.protectedService])
    let advertisement = try await phone.advertise(.init(services: [Parlour.service]))
    let device = try await firstSeen(by: central)
    try await device.connect()
    let value = try device.characteristic(Self.secret, in: Parlour.service)
    #expect(try await code { try await value.read() } == .notPermitted)

    let shown = Lock<[Passkey]>([])
    let agree = Lock(false)
    let agent = PairingAgent(
      displayPasskey: { _, _ in },
      confirmPasskey: { _, passkey in
        shown.withLock { $0.append(passkey) }
        return agree.withLock { $0 }
      })
    // The last agent decides for clients without one: here, for the side that did not start pairing.
    let agents = [try await central.session.register(agent), try await phone.session.register(agent)]
    #expect(try await code { try await device.pair() } == .authenticationFailed)
    let refused = shown.withLock { Set($0) }  // of which the other side may be asked even now
    agree.withLock { $0 = true }
    try await device.pair()
    let agreed = shown.withLock { $0.filter { !refused.contains($0) } }
    #expect(agreed == agreed.first.map { [$0, $0] })
    #expect(device.isBonded)
    #expect(try await value.read() == [42])

    let events = central.session.events()
    try await lab.restart()
    for await event in events where event == .restored { break }
    let again = try await firstSeen(by: central)
    #expect(again.isBonded)
    try await again.connect()
    #expect(try await again.characteristic(Self.secret, in: Parlour.service).read() == [42])
    withExtendedLifetime((application, advertisement, agents)) {}
    try await lab.stop()
  }
}
