import BlueZ
import BlueZTesting
import DBus
import EdgeCoder
import Foundation
import MessageSending
import Streams
import SystemTesting
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

  /// A Boolean value that indicates whether the kernel reports the connections of paired devices as encrypted.
  private let isEncrypted = Lock(true)

  private func connections(isCentral: Bool) -> KernelConnections {
    { [isEncrypted] adapter in
      adapter.devices.filter(\.isConnected).compactMap { device in
        device.address.map {
          ConnectionInfo(
            address: $0, isEncrypted: device.isPaired && isEncrypted.withLock { $0 }, isCentral: isCentral)
        }
      }
    }
  }

  private func listener(
    at adapter: Adapter, _ queue: RelayQueue, _ access: AccessPolicy, answers: Lock<[RelayAnswer?]> = Lock([])
  ) -> RelayListener {
    let bonds = access.mode == .open ? nil : BondStore(folder: folder)
    let control = AccessControl(adapter, access, bonds: bonds, connections: connections(isCentral: false))
    return RelayListener(adapter: adapter, relay: MessageRelay(queue), control: control) { answer in
      answers.withLock { $0.append(answer) }
    }
  }

  /// A sender's end of a relay whose channels a test makes.
  private func dialer(
    from own: Adapter, to relay: Adapter,
    openChannel: @escaping @Sendable (Device, UInt16, SecurityLevel) async throws -> any RelayChannel
  ) -> RelayDialer {
    RelayDialer(
      adapter: own, relay: relay.address, psm: L2CAPRelayChannel.usualPSM, policy: .encrypted(),
      bonds: BondStore(folder: folder), connections: connections(isCentral: true), openChannel: openChannel)
  }

  /// Returns a device as the relay sees it, by the path that bluetoothd gives it, also before it has an object for it.
  private static func peer(_ device: Adapter, at relay: Adapter) throws -> Peer {
    let name = "/org/bluez/\(try #require(relay.name))/dev_" + device.address.description.replacing(":", with: "_")
    return Peer(path: try ObjectPath(name))
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
    let answers = Lock<[RelayAnswer?]>([])
    let relay = listener(at: near, queue, .encrypted(), answers: answers)
    func bring(_ byte: UInt8) async throws -> Packet {
      let packet = Packet(try Self.message(byte))
      await relay.take(packet, from: try Self.peer(far, at: near))
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
    isEncrypted.withLock { $0 = false }
    let refused = try await bring(1)
    #expect(refused.answers.withLock { $0.isEmpty }, "whoever is connected has no keys")
    #expect(refused.isClosed.withLock { $0 })
    #expect(queue.count == 0)
    isEncrypted.withLock { $0 = true }
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
    let packet = Packet(try Self.message(9))
    let levels = Lock<[SecurityLevel]>([])
    let dialer = dialer(from: own, to: relay) { _, _, level in
      levels.withLock { $0.append(level) }
      return packet
    }
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
    #expect(levels.withLock { $0.isEmpty })
    try bonds.add(.init(adapter: own.address, peer: relay.address, role: .phone))
    #expect(try await dialer.find().address == relay.address)
    isEncrypted.withLock { $0 = false }
    let failure = await #expect(throws: PhoneConnectionFailure.self) { try await dialer.open() }
    #expect(failure?.code == .encryptionMissing, "whoever is connected has no keys")
    #expect(packet.isClosed.withLock { $0 })
    isEncrypted.withLock { $0 = true }
    _ = try await dialer.open()
    #expect(levels.withLock { $0 } == [.medium, .medium])
    #expect(packet.answers.withLock { $0.isEmpty }, "nothing was sent before the checks")
    try await advertisement.stop()
    try await air.stop()
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("A second bond under the identity of an admitted device ends its admission, at a relay and at its sender")
  func claimedIdentities() async throws {
    let air = try await FakeBlueZ.start()
    let near = try await air.adapter(0)
    let far = try await air.adapter(1)
    let advertisement = try await near.advertise(.init(services: [L2CAPRelayChannel.service]))
    let bonds = BondStore(folder: folder)
    try bonds.add(.init(adapter: near.address, peer: far.address, role: .central, madeMs: 0))
    try bonds.add(.init(adapter: far.address, peer: near.address, role: .phone, madeMs: 0))
    let queue = try RelayQueue(folder: folder + "/relay", covers: Covers())
    let packet = Packet(try Self.message(1))
    let dialer = dialer(from: far, to: near) { _, _, _ in packet }
    let relay = listener(at: near, queue, .encrypted())
    let sendersGuard = try #require(dialer.bondGuard())
    let relaysGuard = BondGuard(near, bonds, of: .central, connections: connections(isCentral: false))
    let guarding = [Task { await sendersGuard.run() }, Task { await relaysGuard.run() }]
    try await Self.pair(far, with: near)
    try await eventually { try bonds.bonds().isEmpty }
    await relay.take(packet, from: try Self.peer(far, at: near))
    #expect(packet.isClosed.withLock { $0 })
    #expect(queue.count == 0)
    let failure = await #expect(throws: PhoneConnectionFailure.self) { try await dialer.open() }
    #expect(failure?.code == .notPaired)
    for task in guarding { task.cancel() }
    for task in guarding { await task.value }
    try await advertisement.stop()
    try await air.stop()
    try FileManager.default.removeItem(atPath: folder)
  }

  /// A channel whose peer says nothing until it is asked to leave.
  private final class Silence: RelayChannel {
    let isRead = Lock(false)
    private let (end, ending) = AsyncStream.makeStream(of: Void.self)

    func leave() { ending.finish() }
    func send(_ packet: [UInt8]) async throws {}
    func receive() async throws -> [UInt8]? {
      isRead.withLock { $0 = true }
      for await _ in end {}
      return nil
    }
    func close() async {}
  }

  @Test("A relay answers sixteen channels at a time, closes the next one unread, and goes on with the others")
  func theSeventeenthChannel() async throws {
    let air = try await FakeBlueZ.start()
    let near = try await air.adapter(0)
    let queue = try RelayQueue(folder: folder + "/relay", covers: Covers())
    let relay = listener(at: near, queue, .open)
    let peer = try Self.peer(try await air.adapter(1), at: near)
    let silent = (0..<16).map { _ in Silence() }
    let taking = silent.map { channel in Task { await relay.take(channel, from: peer) } }
    try await eventually { silent.allSatisfy { $0.isRead.withLock { $0 } } }
    let refused = Packet(try Self.message(1))
    await relay.take(refused, from: peer)
    #expect(refused.isClosed.withLock { $0 })
    #expect(refused.answers.withLock { $0.isEmpty })
    #expect(queue.count == 0)
    silent[3].leave()
    await taking[3].value
    let next = Packet(try Self.message(2))
    await relay.take(next, from: peer)
    #expect(next.answers.withLock { $0 } == [RelayAnswer.stored.bytes])
    for channel in silent { channel.leave() }
    for task in taking { await task.value }
    try await air.stop()
    try FileManager.default.removeItem(atPath: folder)
  }
}
