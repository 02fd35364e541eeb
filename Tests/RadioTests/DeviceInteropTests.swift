import BlueZ
import Testing

/// Devices nobody here wrote, with lives of their own: one that stalls and one that changes its services, one behind
/// private addresses, and a central that comes to see us meanwhile.
extension RadioTests {
  @Suite("Devices of other stacks", .enabled(if: Radio.isLab && Radio.python != nil, Radio.peersNeeded))
  struct DeviceInteroperability {
    private static func uuid(_ number: Int) -> BluetoothUUID {
      let pair = (number < 16 ? "0" : "") + String(number, radix: 16)
      return BluetoothUUID(stringLiteral: "ec0d03\(pair)-ec0d-ec0d-ec0d-ec0d03\(pair)ec0d")
    }
    private static let service = uuid(1)
    private static let visited = uuid(0x11)

    @Test("Devices come, go, change and are found again", .timeLimit(.minutes(5)))
    func devicesWithLivesOfTheirOwn() async throws {
      let peer = try LabPeer("device_peer.py", ["--timeout", "290"])
      defer { peer.terminate() }
      let first = try await peer.next("adapter")
      let adapter = try await Radio.adapter(try #require(first["name"] as? String))
      let moody = try #require((first["moody"] as? String).flatMap(BluetoothAddress.init))
      let identity = try #require((first["private"] as? String).flatMap(BluetoothAddress.init))
      try await reach(moody, at: adapter, peer)
      try await identify(identity, at: adapter)
    }

    /// One adapter in both roles, and a device that is hard to reach and to keep.
    private func reach(_ moody: BluetoothAddress, at adapter: Adapter, _ peer: LabPeer) async throws {
      // From here on somebody has a link to us.
      #expect(adapter.roles.isSuperset(of: [.central, .peripheral]))
      let value = LocalCharacteristic(Self.uuid(0x12), .read, read: { _ in Array("come in".utf8) })
      let application = try await adapter.offer([LocalService(Self.visited, characteristics: [value])])
      let advertisement = try await adapter.advertise(.init(services: [Self.visited]))
      let read = try await peer.next("visited")["text"] as? String
      #expect(read == "come in")

      // Never seen; its services never come on the first link; the second has what is asked for.
      let connection = try await adapter.connect(
        to: moody, .direct(timeout: .seconds(6), attempts: 1), requiring: [Self.service: [Self.uuid(2)]])
      for number in 1...2 {
        let link = try await peer.next("link")["number"] as? Int
        #expect(link == number)
      }
      let device = try await connection.device()
      #expect(device.id == .address(moody))
      #expect(try await device.characteristic(Self.uuid(2), in: Self.service).read() == [2])
      #expect(adapter.connectedPeers.count == 2)
      try await device.disconnect()

      try await findsOtherServices(of: device)
      try await keepsTheLink(to: moody, at: adapter, peer)
      try await advertisement.stop()
      try await application.unregister()
    }

    /// Behind bluetoothd's back the device has other services now.
    private func findsOtherServices(of device: Device) async throws {
      let connection = try await device.connect(.direct(), requiring: [Self.service: [Self.uuid(3)]])
      let device = try await connection.device()
      #expect(try await device.characteristic(Self.uuid(3), in: Self.service).read() == [3])
      let error = await #expect(throws: BlueZError.self) {
        _ = try await device.connect(.direct(attempts: 1), requiring: [Self.service: [Self.uuid(2)]])
      }
      #expect(error?.code == .notSupported)

    }

    /// Keeps a connection over a lost radio and a restart of bluetoothd.
    private func keepsTheLink(to moody: BluetoothAddress, at adapter: Adapter, _ peer: LabPeer) async throws {
      let kept = try await adapter.connect(to: moody, .keepConnected())
      for fault in [["radio", "loss"], ["bluetoothd", "restart"]] {
        _ = try await kept.device()
        let states = kept.states(limit: 64)
        try await Radio.fault(fault[0], fault[1])
        try await bounded(.seconds(60), "the link again after \(fault)") {
          var wasLost = false
          for await state in states {
            switch state {
            case .waiting: wasLost = true
            case .connected(let device) where wasLost:
              #expect(try await device.characteristic(Self.uuid(3), in: Self.service).read() == [3])
              return
            default: break
            }
          }
          throw TestTimeout(phase: "the connection ended")
        }
        // Linux 6.1 does not survive every link that ends in the middle of a request: let the visitor finish.
        _ = try await peer.next("visited")
      }
      await kept.end()
      #expect(kept.state == .ended(nil))
      #expect(adapter.device(moody)?.isConnected != true)
    }

    /// A device behind private addresses is one and the same before and after it was bonded.
    private func identify(_ identity: BluetoothAddress, at adapter: Adapter) async throws {
      let agent = try await adapter.session.register(PairingAgent())
      try await adapter.setPairable(true)
      let sightings = try await adapter.discover(.init(services: [Self.service]))
      let device = try await sightings.firstDevice("the private device", within: .seconds(30)) { $0.name == "private" }
      #expect(device.id == .object(device.path))
      let events = device.events()
      try await device.pair()
      try await bounded(.seconds(10), "the identity") {
        for await event in events where event == .identityResolved(identity) { return }
        throw TestTimeout(phase: "the device is gone")
      }
      #expect(device.id == .address(identity))
      try await device.disconnect()
      // It has another address now; it is connected to by the one that stays.
      let connection = try await adapter.connect(to: identity)
      let again = try await connection.device()
      #expect(again.id == .address(identity))
      #expect(try await again.characteristic(Self.uuid(4), in: Self.service).read() == [4])
      await connection.end()
      try await again.remove()
      withExtendedLifetime(agent) {}
    }
  }
}
