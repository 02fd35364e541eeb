import BlueZ
import Streams
import Testing

/// Our agent against a Security Manager nobody here wrote: Bumble's, with LE Secure Connections.
extension RadioTests {
  @Suite("Pairing with other stacks", .enabled(if: Radio.isLab && Radio.python != nil, Radio.peersNeeded))
  struct PairingInteroperability {
    /// A peer, and the adapter it gave to BlueZ.
    private func start(_ role: String, _ methods: String...) async throws -> (LabPeer, Adapter) {
      let peer = try LabPeer("pairing_peer.py", [role] + methods)
      return (peer, try await peer.adapter())
    }

    /// What wants LE Secure Connections and somebody who compares is not for a bond that anybody can have.
    @Test("A Bumble central pairs by numeric comparison", .timeLimit(.minutes(5)))
    func aBumbleCentralComparesNumbers() async throws {
      let (peer, adapter) = try await start("central", "just-works", "compare")
      defer { peer.terminate() }
      let (shown, source) = BoundedStream.make(of: Passkey.self, limit: 4)
      let agent = PairingAgent(
        displayPasskey: { _, _ in },
        confirmPasskey: { _, passkey in
          source.yield(passkey)
          return true
        }, authorizePairing: { _ in true })
      let registration = try await adapter.session.register(agent)
      let window = try await adapter.openPairingWindow(for: .seconds(60))
      let written = Lock<[UInt8]>([])
      let secret = LocalCharacteristic(
        PairingPair.secret, [.secureRead, .secureWrite], read: { _ in PairingPair.value },
        writes: .handler { request in written.withLock { $0 = request.value } })
      let application = try await adapter.offer([LocalService(PairingPair.service, characteristics: [secret])])
      let advertisement = try await adapter.advertise(.init(services: [PairingPair.service]))
      // Each of the two tries before it has paired; the first one in vain also after.
      for what in ["read", "write", "read", "write", "read", "write"] {
        let refused = try await peer.next("refused")
        #expect(refused["what"] as? String == what)
        #expect((refused["problem"] as? String)?.contains("INSUFFICIENT") == true, "\(refused)")
      }
      #expect(written.withLock { $0 } == [])
      let number = try await peer.next("number")["number"] as? Int
      var seen = shown.makeAsyncIterator()
      #expect(await seen.next().map { Int($0.number) } == number)
      let read = try await peer.next("secret")["text"] as? String
      #expect(read.map { Array($0.utf8) } == PairingPair.value)
      _ = try await peer.next("wrote")
      #expect(written.withLock { $0 } == Array("mine".utf8))
      #expect(await peer.status() == 0)
      withExtendedLifetime((registration, window, application, advertisement)) {}
    }

    /// From 5.81 on bluetoothd uses the default agent's capability, which here is too little for a number.
    @Test("Two ends compare numbers while an agent without display is the default one", .timeLimit(.minutes(5)))
    func theDefaultAgentsCapabilityIsNotUsed() async throws {
      let (peer, adapter) = try await start("peripheral", "compare")
      defer { peer.terminate() }
      let (shown, source) = BoundedStream.make(of: Passkey.self, limit: 4)
      let person = PairingAgent(
        displayPasskey: { _, _ in },
        confirmPasskey: { _, passkey in
          source.yield(passkey)
          return true
        })
      let own = try await adapter.session.register(person)
      let another = try await Session.open()
      let last = try await another.register(PairingAgent())
      let device = try await adapter.discover(.init(services: [PairingPair.service])).firstDevice(
        "the peer's advertisement")
      try await device.connect()
      try await device.pair()
      let number = try await peer.next("number")["number"] as? Int
      var seen = shown.makeAsyncIterator()
      #expect(await seen.next().map { Int($0.number) } == number)
      let secret = try device.characteristic(PairingPair.secret, in: PairingPair.service)
      #expect(try await secret.read() == Array("told".utf8))
      try await device.disconnect()
      #expect(await peer.status() == 0)
      withExtendedLifetime((own, last)) {}
    }

    /// A person at a terminal begins, and types what the peer shows.
    @Test(
      "A Bumble peripheral displays the passkey", .enabled(if: Command.isBuilt, Command.needed), .timeLimit(.minutes(5))
    )
    func aBumblePeripheralShowsThePasskey() async throws {
      let (peer, adapter) = try await start("peripheral", "display")
      defer { peer.terminate() }
      let device = try await adapter.discover(.init(services: [PairingPair.service])).firstDevice(
        "the peer's advertisement")
      let address = try #require(device.address)
      let name = try #require(adapter.name)
      let terminal = try Command.terminal("pair with \(address) --adapter \(name)")
      let number = try #require(try await peer.next("number")["number"] as? Int)
      _ = try await terminal.line(with: "shows a passkey of six digits")
      try await terminal.type("\(try #require(Passkey(UInt32(number))))")
      _ = try await terminal.line(with: "paired with ")
      try await device.connect()
      #expect(device.isBonded)
      let secret = try device.characteristic(PairingPair.secret, in: PairingPair.service)
      #expect(try await secret.read() == Array("told".utf8))
      try await device.disconnect()
      #expect(await peer.status() == 0)
    }
  }
}
