import BlueZ
import DBus
import EdgeCoder
import EdgeCoderTesting
import Foundation
import MessageSending
import Streams
import SystemTesting
import Testing

@testable import edgeblue

/// Who may use a relay, and which relays a sender uses, over a fake BlueZ whose connections are encrypted once paired.
@Suite("Bonds of a relay and its senders", .timeLimit(.minutes(5))) struct RelayBondTests {
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

  /// The relay at the first adapter.
  private func listener(
    _ air: FakeTrust, _ queue: RelayQueue, _ access: AccessPolicy, answers: Lock<[RelayAnswer?]> = Lock([])
  ) async throws -> RelayListener {
    let adapter = try await air.lab.adapter(0)
    let bonds = access.mode == .open ? nil : air.bonds
    let control = AccessControl(adapter, access, bonds: bonds, connections: air.connections(isCentral: false))
    return RelayListener(adapter: adapter, relay: MessageRelay(queue), control: control) { answer in
      answers.withLock { $0.append(answer) }
    }
  }

  /// A sender at the second adapter, of a relay at the first one, whose channels a test makes.
  private func dialer(
    _ air: FakeTrust, _ access: AccessPolicy = .encrypted(),
    openChannel: @escaping @Sendable (Device, UInt16, SecurityLevel) async throws -> any RelayChannel
  ) async throws -> RelayDialer {
    RelayDialer(
      adapter: try await air.lab.adapter(1), relay: air.lab.adapters[0].address, psm: L2CAPRelayChannel.usualPSM,
      policy: access, bonds: air.bonds, connections: air.connections(isCentral: true), openChannel: openChannel)
  }

  /// Returns a device as the relay sees it, by the path that bluetoothd gives it, also before it has an object for it.
  private static func peer(_ device: Adapter, at relay: Adapter) throws -> Peer {
    let name = "/org/bluez/\(try #require(relay.name))/dev_" + device.address.description.replacing(":", with: "_")
    return Peer(path: try ObjectPath(name))
  }

  @Test("A relay takes messages of devices that its user has paired, and closes the channels of all others")
  func onlyPairedSenders() async throws {
    let air = try await FakeTrust.start()
    let near = try await air.lab.adapter(0)
    let far = try await air.lab.adapter(1)
    let advertisement = try await near.advertise(.init(services: [L2CAPRelayChannel.service]))
    let queue = try RelayQueue(folder: air.folder + "/relay", covers: Covers())
    let answers = Lock<[RelayAnswer?]>([])
    let relay = try await listener(air, queue, .encrypted(), answers: answers)
    func bring(_ byte: UInt8) async throws -> Packet {
      let packet = Packet(try Self.message(byte))
      await relay.take(packet, from: try Self.peer(far, at: near))
      return packet
    }
    // A link of this session: one that pairing makes ends with the session that pairs.
    let sender = try await air.device(0, seenBy: 1)
    try await sender.connect()
    for isPaired in [false, true] {
      if isPaired { try await air.pair(1, with: 0) }
      let packet = try await bring(1)
      #expect(packet.answers.withLock { $0.isEmpty })
      #expect(packet.isClosed.withLock { $0 })
      #expect(queue.count == 0, "a bond that no user made for this is none")
    }
    try air.admit(1, at: 0, as: .central)
    try await eventually("the relay's session sees the bond and the link") {
      let device = relay.adapter.device(far.address)
      return device?.isBonded == true && device?.isConnected == true
    }
    air.isEncrypted.withLock { $0 = false }
    let refused = try await bring(1)
    #expect(refused.answers.withLock { $0.isEmpty }, "whoever is connected has no keys")
    #expect(refused.isClosed.withLock { $0 })
    air.isEncrypted.withLock { $0 = true }
    let packet = try await bring(2)
    #expect(packet.answers.withLock { $0 } == [RelayAnswer.stored.bytes])
    #expect(queue.count == 1)
    #expect(answers.withLock { $0 } == [.stored])
    try await advertisement.stop()
    try await air.stop()
  }

  @Test("A sender opens a channel only to a relay that its user has paired with") func onlyPairedRelays() async throws {
    let air = try await FakeTrust.start()
    let relay = try await air.lab.adapter(0)
    let advertisement = try await relay.advertise(.init(services: [L2CAPRelayChannel.service]))
    let packet = Packet(try Self.message(9))
    let levels = Lock<[SecurityLevel]>([])
    let dialer = try await dialer(air) { device, _, level in
      levels.withLock { $0.append(level) }
      try await device.connect()
      return packet
    }
    for isPaired in [false, true] {
      if isPaired { try await air.pair(1, with: 0) }
      let error = await #expect(throws: PhoneConnectionFailure.self) { try await dialer.find() }
      #expect(error?.code == .notPaired)
      // What it throws ends an attempt, and not the schedule.
      let failure = await #expect(throws: MessageSendingError.self) {
        try await dialer.transport.send(Self.message(1))
      }
      #expect(failure?.code == .notSent)
    }
    #expect(levels.withLock { $0.isEmpty })
    try air.admit(0, at: 1, as: .phone)
    #expect(try await dialer.find().address == relay.address)
    air.isEncrypted.withLock { $0 = false }
    let failure = await #expect(throws: PhoneConnectionFailure.self) { try await dialer.open() }
    #expect(failure?.code == .encryptionMissing, "whoever is connected has no keys")
    #expect(packet.isClosed.withLock { $0 })
    air.isEncrypted.withLock { $0 = true }
    _ = try await dialer.open()
    #expect(levels.withLock { $0 } == [.medium, .medium])
    #expect(packet.answers.withLock { $0.isEmpty }, "nothing was sent before the checks")
    try await advertisement.stop()
    try await air.stop()
  }

  @Test("A sender asks the kernel for a channel with the security of its mode") func channelsOfSenders() async throws {
    let air = try await FakeTrust.start()
    let relay = try await air.lab.adapter(0)
    let advertisement = try await relay.advertise(.init(services: [L2CAPRelayChannel.service]))
    try await air.pair(1, with: 0)
    try air.admit(0, at: 1, as: .phone)
    let levels = Lock<[SecurityLevel]>([])
    for policy in [AccessPolicy.open, .encrypted(), .authenticated()] {
      let packet = Packet(try Self.message(1))
      let dialer = try await dialer(air, policy) { device, _, level in
        levels.withLock { $0.append(level) }
        try await device.connect()
        return packet
      }
      _ = try await dialer.open()
    }
    #expect(levels.withLock { $0 } == [.low, .medium, .fips])
    try await advertisement.stop()
    try await air.stop()
  }

  /// The channels of a relay that nobody opens.
  private final class NoChannels: RelayChannels {
    private let (channels, source) = BoundedStream.make(of: Never.self, limit: 1)

    func next() async throws -> (channel: any RelayChannel, peer: Peer)? {
      for await never in channels { switch never {} }
      return nil
    }
    func close() { source.finish() }
  }

  @Test(
    "A relay that runs takes channels with the security of its mode, and ends an admission that another bond takes over",
    arguments: [(AccessPolicy.encrypted(), SecurityLevel.medium), (.authenticated(), .fips)])
  func aRunningRelay(policy: AccessPolicy, level: SecurityLevel) async throws {
    let air = try await FakeTrust.start()
    try air.admit(1, at: 0, as: .central, madeMs: 0)
    var relay = try await listener(air, try RelayQueue(folder: air.folder + "/relay", covers: Covers()), policy)
    let levels = Lock<[SecurityLevel]>([])
    relay.listen = { _, _, level in
      levels.withLock { $0.append(level) }
      return NoChannels()
    }
    let (listening, source) = BoundedStream.make(of: Void.self, limit: 1)
    let taking = Task { [relay] in try await relay.run(psm: L2CAPRelayChannel.usualPSM) { _ = source.yield(()) } }
    for await _ in listening { break }
    #expect(levels.withLock { $0 } == [level])
    // A relay that says that it listens misses no bond.
    try await air.pair(1, with: 0)
    try await eventually("the admission is over") { try air.bonds.bonds().isEmpty }
    taking.cancel()
    try await taking.value
    try await air.stop()
  }

  @Test("A second bond under the identity of an admitted device ends its admission, at a relay and at its sender")
  func claimedIdentities() async throws {
    let air = try await FakeTrust.start()
    let near = try await air.lab.adapter(0)
    let far = try await air.lab.adapter(1)
    let advertisement = try await near.advertise(.init(services: [L2CAPRelayChannel.service]))
    try air.admit(1, at: 0, as: .central, madeMs: 0)
    try air.admit(0, at: 1, as: .phone, madeMs: 0)
    let queue = try RelayQueue(folder: air.folder + "/relay", covers: Covers())
    let packet = Packet(try Self.message(1))
    let dialer = try await dialer(air) { _, _, _ in packet }
    let relay = try await listener(air, queue, .encrypted())
    let sendersGuard = try #require(dialer.bondGuard())
    let relaysGuard = BondGuard(near, air.bonds, of: .central, connections: air.connections(isCentral: false))
    let guarding = [Task { await sendersGuard.run() }, Task { await relaysGuard.run() }]
    try await air.pair(1, with: 0)
    try await eventually { try air.bonds.bonds().isEmpty }
    await relay.take(packet, from: try Self.peer(far, at: near))
    #expect(packet.isClosed.withLock { $0 })
    #expect(queue.count == 0)
    let failure = await #expect(throws: PhoneConnectionFailure.self) { try await dialer.open() }
    #expect(failure?.code == .notPaired)
    for task in guarding { task.cancel() }
    for task in guarding { await task.value }
    try await advertisement.stop()
    try await air.stop()
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
    let air = try await FakeTrust.start()
    let near = try await air.lab.adapter(0)
    let queue = try RelayQueue(folder: air.folder + "/relay", covers: Covers())
    let relay = try await listener(air, queue, .open)
    let peer = try Self.peer(try await air.lab.adapter(1), at: near)
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
  }
}
