import BlueZ
import BlueZTesting
import DBus
import EdgeCoder
import Foundation
import MessageSending
import Streams
import Testing

@testable import edgeblue

/// Who may use a relay, and which relays a sender uses, over a fake BlueZ whose connections are encrypted once paired.
@Suite("Bonds of a relay and its senders", .timeLimit(.minutes(5))) struct RelayBondTests {
  private let folder = FileManager.default.temporaryDirectory.path + "/edgeblue-relay-\(UUID().uuidString.prefix(8))"

  /// One packet to a relay, and what comes back.
  private final class Packet: RelayChannel {
    let answers = Lock<[[UInt8]]>([])
    let isClosed = Lock(false)
    private let packet = Lock<[UInt8]?>(nil)

    init(_ message: SealedMessage) { packet.withLock { $0 = RelayPacket.encode(message) } }
    func send(_ packet: [UInt8]) async throws { answers.withLock { $0.append(packet) } }
    func receive() async throws -> [UInt8]? { packet.withLock { $0.take() } }
    func close() async { isClosed.withLock { $0 = true } }
  }

  private struct Covers: CoverSource {
    func cover() throws(MessageSendingError) -> SealedMessage { try message(0) }
  }

  private static func message(_ byte: UInt8) throws(MessageSendingError) -> SealedMessage {
    try SealedMessage(bytes: [UInt8](repeating: byte, count: SealedMessage.byteCount))
  }

  private static func connections(_ adapter: Adapter) -> [ConnectionInfo] {
    adapter.devices.filter(\.isConnected).compactMap { device in
      device.address.map { ConnectionInfo(address: $0, isEncrypted: device.isPaired, isCentral: false) }
    }
  }

  private static func pair(_ near: Adapter, with far: Adapter) async throws {
    let agent = PairingAgent(authorizePairing: { _ in true })
    let agents = [try await near.session.register(agent), try await far.session.register(agent)]
    let windows = [
      try await near.openPairingWindow(for: .seconds(60)), try await far.openPairingWindow(for: .seconds(60)),
    ]
    try await near.find(far.address, timeout: .seconds(20)).pair()
    for window in windows { try await window.close() }
    for agent in agents { try await agent.unregister() }
  }

  @Test("A relay takes messages of devices that its user has paired, and closes the channels of all others")
  func onlyPairedSenders() async throws {
    let air = try await FakeBlueZ.start()
    let near = try await air.adapter(0)
    let far = try await air.adapter(1)
    let advertisement = try await near.advertise(.init(services: [L2CAPRelayChannel.service]))
    let queue = try RelayQueue(folder: folder + "/relay", covers: Covers())
    let bonds = BondStore(folder: folder)
    let control = AccessControl(near, .encrypted(), bonds: bonds, connections: Self.connections)
    let answers = Lock<[RelayAnswer?]>([])
    let relay = RelayListener(adapter: near, relay: MessageRelay(queue), control: control) { answer in
      answers.withLock { $0.append(answer) }
    }
    func bring(_ byte: UInt8) async throws -> Packet {
      let packet = Packet(try Self.message(byte))
      // The path that bluetoothd gives a device, also before it has an object for it.
      let name = "/org/bluez/\(try #require(near.name))/dev_" + far.address.description.replacing(":", with: "_")
      await relay.take(packet, from: Peer(path: try ObjectPath(name)))
      return packet
    }
    for isPaired in [false, true] {
      if isPaired { try await Self.pair(far, with: near) }
      let packet = try await bring(1)
      #expect(packet.answers.withLock { $0.isEmpty })
      #expect(packet.isClosed.withLock { $0 })
      #expect(queue.count == 0, "a bond that no user made for this is none")
    }
    try bonds.add(.init(adapter: near.address, peer: far.address, role: .central))
    let packet = try await bring(2)
    #expect(packet.answers.withLock { $0 } == [RelayAnswer.stored.bytes])
    #expect(queue.count == 1)
    #expect(answers.withLock { $0 } == [.stored])
    try await advertisement.stop()
    try await air.stop()
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("A sender opens a channel only to a relay that its user has paired with") func onlyPairedRelays() async throws {
    let air = try await FakeBlueZ.start()
    let relay = try await air.adapter(0)
    let own = try await air.adapter(1)
    let advertisement = try await relay.advertise(.init(services: [L2CAPRelayChannel.service]))
    let bonds = BondStore(folder: folder)
    let dialer = RelayDialer(
      adapter: own, relay: relay.address, psm: L2CAPRelayChannel.usualPSM, policy: .encrypted(), bonds: bonds,
      connections: Self.connections)
    for isPaired in [false, true] {
      if isPaired { try await Self.pair(own, with: relay) }
      let error = await #expect(throws: PhoneConnectionFailure.self) { try await dialer.find() }
      #expect(error?.code == .notPaired)
      // What it throws ends an attempt, and not the schedule.
      let failure = await #expect(throws: MessageSendingError.self) {
        try await dialer.transport.send(Self.message(1))
      }
      #expect(failure?.code == .notSent)
    }
    try bonds.add(.init(adapter: own.address, peer: relay.address, role: .phone))
    #expect(try await dialer.find().address == relay.address)
    try await advertisement.stop()
    try await air.stop()
    try FileManager.default.removeItem(atPath: folder)
  }
}
