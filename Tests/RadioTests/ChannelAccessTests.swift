import BlueZ
import Streams
import Testing

@testable import EdgeCoder

/// Who may open the L2CAP channels of v2 muxes, and over which connections.
extension RadioTests {
  @Suite("Access to L2CAP channels, over the radio") struct ChannelAccess {
    private static let refusals: [BlueZError.Code] = [.authenticationFailed, .timedOut, .notConnected, .connectFailed]

    /// Expects that a phone serves one of the first PSMs that the kernel chooses, and refuses a channel to it.
    private static func expectRefusal(by device: Device, _ phone: PhoneService) async throws {
      for psm: UInt16 in 0x80...0x8f {
        try await device.connect()
        let error = await #expect(throws: BlueZError.self) {
          try await device.openChannel(psm: psm, timeout: .seconds(5))
        }
        let code = try #require(error).code
        if code == .channelRefused { continue }  // nothing listens there
        #expect(refusals.contains(code), "\(code)")
        let snapshot = await phone.snapshot()
        #expect(snapshot.counters.requests == 0)
        return
      }
      Issue.record("the phone listens on no PSM")
    }

    /// The stranger and the central are the same radio, before and after a user has paired it. To a phone that demands
    /// more than its bond is worth it is a stranger again.
    @Test("A closed phone opens channels only to centrals that paired as its mode demands", .timeLimit(.minutes(5)))
    func aClosedPhoneRefusesTheChannelsOfOthers() async throws {
      let isOpen = Lock(false)
      let user = PairingAgent(authorizePairing: { _ in isOpen.withLock { $0 } })
      try await PairingPair.with(central: user, peripheral: user) { pair in
        try await pair.forget()
        let own = pair.central
        let address = pair.peripheral.address
        try await withPhone(on: Radio.phone, access: .encrypted(), links: [.l2cap]) { phone in
          let stranger = try await own.find(address, timeout: .seconds(60))
          try await Self.expectRefusal(by: stranger, phone)
          isOpen.withLock { $0 = true }
          let window = try await pair.peripheral.openPairingWindow(for: .seconds(60))
          try await own.find(address, timeout: .seconds(60)).pair()
          try await window.close()
          isOpen.withLock { $0 = false }
          try await withCentral(at: own, access: .encrypted()) { central in
            let reply = try await central.askUntilAnswered("2000", within: .seconds(60))
            #expect(reply.answer.output == SizedEngine.text(2000))
            #expect(await central.status().phones.first?.linkBearer == .l2cap)
          }
        }
        try await withPhone(on: Radio.phone, access: .authenticated(), links: [.l2cap]) { phone in
          try await Self.expectRefusal(by: try await own.find(address, timeout: .seconds(60)), phone)
        }
      }
    }

    /// The phone is an impostor, which accepts every channel. A closed central would refuse it before; this is about a
    /// connection that is replaced by another one after that check.
    @Test("A closed central opens channels only over connections that the kernel has secured", .timeLimit(.minutes(5)))
    func aClosedCentralSecuresItsChannels() async throws {
      let own = try await Radio.adapter(Radio.mac)
      let far = try await Radio.adapter(Radio.phone)
      let listener = try far.listen(mtu: MuxFrame.longest)
      let service = BluetoothUUID(stringLiteral: EdgeCoderUUIDs.service)
      let offer = MuxOffer(psm: listener.psm, hasValues: false).bytes
      let characteristics = [
        LocalCharacteristic(BluetoothUUID(stringLiteral: EdgeCoderUUIDs.request), .write, writes: .handler { _ in }),
        LocalCharacteristic(BluetoothUUID(stringLiteral: EdgeCoderUUIDs.response), value: []),
        LocalCharacteristic(BluetoothUUID(stringLiteral: EdgeCoderUUIDs.status), value: []),
        LocalCharacteristic(BluetoothUUID(stringLiteral: EdgeCoderUUIDs.muxOffer), value: offer),
      ]
      let application = try await far.offer([LocalService(service, characteristics: characteristics)])
      let advertisement = try await far.advertise(.init(name: "impostor", services: [service]))
      for policy in [AccessPolicy.encrypted(), .authenticated(), .open] {
        let device = try await own.connect(to: far.address, requiring: [service: []]).device()
        let admission = PhoneAdmission(
          policy: policy, bonds: nil, connections: { try $0.connections() })
        let connection = try BlueZPhoneConnection(
          device, at: own, admission, security: { try await $0.provides($1) }, logger: .init(label: "test"))
        #expect(try await connection.muxBearers() == [.l2cap])
        if policy.mode == .open {
          try await connection.openMux(over: .l2cap).close()
        } else {
          await #expect(throws: BlueZError.self, "\(policy.mode)") { try await connection.openMux(over: .l2cap) }
        }
        await connection.disconnect()
      }
      listener.close()
      try await advertisement.stop()
      try await application.unregister()
    }
  }
}
