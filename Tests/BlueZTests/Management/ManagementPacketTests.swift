import DeterministicTesting
import SystemTesting
import Testing

@testable import BlueZ

@Suite("Packets of the management interface", .computing) struct ManagementPacketTests {
  private static let address: [UInt8] = [0x42, 0, 0, 1, 0xaa, 0, 1]
  /// The reply to Get Connection Information.
  private static let powers: [UInt8] = address + [0xc4, 4, 127]
  /// The event New Connection Parameter: 30 to 50 ms, latency 2, 5 s.
  private static let update: [UInt8] = address + [1, 24, 0, 40, 0, 2, 0, 0xf4, 1]
  /// The reply to Read Controller Information, from Linux 6.1 on a virtual controller, without the names.
  private static let information: [UInt8] = [
    0, 0, 1, 0xaa, 1, 0, 9, 0xf1, 5, 0x1b, 0xbe, 1, 0, 1, 0x0a, 0, 0, 0, 0, 0,
  ]
  /// A part of the reply to Read Default System Configuration, from Linux 6.1.
  private static let defaults: [UInt8] = [
    0x00, 0, 2, 0, 0, 0x17, 0, 2, 24, 0, 0x18, 0, 2, 40, 0, 0x19, 0, 2, 0, 0, 0x1a, 0, 2, 42, 0, 0x1f, 0, 1, 0,
  ]

  @Test("A packet is read as it is written, and not with another length") func aPacketHasTheLengthOfItsHeader() {
    let packet = ManagementPacket(0x0031, 0x0102, Self.address)
    #expect(packet.bytes == [0x31, 0, 2, 1, 7, 0] + Self.address)
    #expect(ManagementPacket(packet.bytes) == packet)
    for count in 0..<packet.bytes.count { #expect(ManagementPacket(Array(packet.bytes.prefix(count))) == nil) }
    #expect(ManagementPacket(packet.bytes + [0]) == nil)
  }

  @Test("Only an outcome of the command itself is its reply") func aReplyBelongsToItsCommand() {
    let command = ManagementPacket(0x0031, 1, [])
    let reply = ManagementPacket.Reply(status: 2, parameters: [7])
    #expect(ManagementPacket.completion(of: command, status: 2, [7]).reply(to: 0x31, 1) == reply)
    #expect(ManagementPacket.status(of: command, 0x14).reply(to: 0x31, 1)?.status == 0x14)
    #expect(ManagementPacket.completion(of: command, []).reply(to: 0x31, 2) == nil)
    #expect(ManagementPacket.completion(of: command, []).reply(to: 0x44, 1) == nil)
    #expect(ManagementPacket(0x0012, 1, [0x31, 0, 0]).reply(to: 0x31, 1) == nil)
    for short: [UInt8] in [[], [0x31], [0x31, 0]] {
      #expect(ManagementPacket(0x0001, 1, short).reply(to: 0x31, 1) == nil)
    }
  }

  @Test("A reading has the powers that are known") func aReading() {
    let reading = LinkReading(rssi: -60, transmitPower: 4, maximumTransmitPower: nil)
    #expect(LinkReading(Self.powers, of: Self.address) == reading)
    let unknown = Self.address + [127, 127, 127]
    #expect(LinkReading(unknown, of: Self.address) == LinkReading())
    #expect(LinkReading(Self.powers, of: Self.address.dropLast() + [2]) == nil)
    for count in 0..<Self.powers.count {
      #expect(LinkReading(Array(Self.powers.prefix(count)), of: Self.address) == nil)
    }
  }

  @Test("An update of connection parameters is read in its units") func anUpdate() {
    let parameters = ConnectionParameters(event: Self.update, of: Self.address)
    #expect(parameters?.interval == .milliseconds(30) ... .milliseconds(50))
    #expect(parameters?.latency == 2)
    #expect(parameters?.supervisionTimeout == .seconds(5))
    for count in 0..<Self.update.count {
      #expect(ConnectionParameters(event: Array(Self.update.prefix(count)), of: Self.address) == nil)
    }
    #expect(ConnectionParameters(event: Self.update, of: Self.powers) == nil)
    let reversed = Self.address + [1, 40, 0, 24, 0, 2, 0, 0xf4, 1]
    #expect(ConnectionParameters(event: reversed, of: Self.address) == nil)
  }

  @Test("The preferred connection parameters are found among the defaults, and written as they are read")
  func theDefaults() throws {
    let parameters = try #require(ConnectionParameters(defaults: Self.defaults))
    #expect(parameters.interval == .milliseconds(30) ... .milliseconds(50))
    #expect(parameters.supervisionTimeout == .milliseconds(420))
    #expect(try ConnectionParameters(defaults: parameters.defaults("")) == parameters)
    // Without the last of the four, with a length beyond the end, and with another one.
    #expect(ConnectionParameters(defaults: Array(Self.defaults.prefix(20))) == nil)
    #expect(ConnectionParameters(defaults: Self.defaults.dropLast() + [0xff, 0xff, 9]) == nil)
    #expect(ConnectionParameters(defaults: [0x17, 0, 1, 24] + Self.defaults.dropFirst(10)) == nil)
  }

  @Test(
    "Connection parameters that the kernel would ignore are refused",
    arguments: [
      ConnectionParameters(interval: .milliseconds(7) ... .milliseconds(50), supervisionTimeout: .seconds(2)),
      ConnectionParameters(interval: .milliseconds(8) ... .seconds(5), supervisionTimeout: .seconds(20)),
      ConnectionParameters(interval: .zero ... .seconds(Int64.max), supervisionTimeout: .seconds(2)),
      ConnectionParameters(
        interval: .milliseconds(30) ... .milliseconds(50), latency: 500, supervisionTimeout: .seconds(32)),
      ConnectionParameters(
        interval: .milliseconds(30) ... .milliseconds(50), latency: -1, supervisionTimeout: .seconds(2)),
      ConnectionParameters(interval: .milliseconds(30) ... .milliseconds(50), supervisionTimeout: .milliseconds(90)),
      ConnectionParameters(interval: .milliseconds(30) ... .milliseconds(50), supervisionTimeout: .seconds(33)),
      ConnectionParameters(
        interval: .milliseconds(30) ... .milliseconds(50), latency: 9, supervisionTimeout: .seconds(1)),
    ])
  func impossibleParameters(_ parameters: ConnectionParameters) {
    let error = #expect(throws: BlueZError.self) { try parameters.fields("testing") }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message.contains("allowed: ") == true)
  }

  @Test("The extremes of connection parameters are accepted") func extremeParameters() throws {
    let quick = ConnectionParameters(
      interval: .milliseconds(7.5) ... .milliseconds(7.5), supervisionTimeout: .milliseconds(100))
    #expect(try quick.fields("") == [6, 6, 0, 10])
    let slow = ConnectionParameters(interval: .seconds(4) ... .seconds(4), latency: 2, supervisionTimeout: .seconds(32))
    #expect(try slow.fields("") == [3200, 3200, 2, 3200])
  }

  @Test("Settings are read as the kernel writes them") func settings() throws {
    let settings = try #require(AdapterSettings(Self.information))
    #expect(settings.current == [.powered, .lowEnergy, .secureConnections])
    #expect(settings.current.description == "powered, low energy, secure connections")
    #expect(settings.supported.isSuperset(of: [.privacy, .secureConnections, .phyConfiguration]))
    #expect(!settings.supported.contains(.classic))
    for count in 0..<17 { #expect(AdapterSettings(Array(Self.information.prefix(count))) == nil) }
  }

  @Test("PHYs are read in each direction, and a selection keeps those of Classic and the fixed ones") func phys() throws
  {
    // Supported: a packet type of Classic, LE 1M, 2M and coded; configurable without LE 1M; selected without coded.
    let reply: [UInt8] = [1, 0x7e, 0, 0, 1, 0x78, 0, 0, 1, 0x1e, 0, 0]
    let phys = try #require(PHYConfiguration(reply))
    #expect(phys.supportedTransmit == Set(PHY.allCases))
    #expect(phys.receive == [.oneMegabit, .twoMegabit])
    #expect(try phys.selection(transmit: [.coded], receive: [.twoMegabit], "") == [1, 0x36, 0, 0])
    for count in 0..<12 { #expect(PHYConfiguration(Array(reply.prefix(count))) == nil) }
    let plain = try #require(PHYConfiguration([0, 6, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0]))
    let error = #expect(throws: BlueZError.self) { try plain.selection(transmit: [.coded], receive: [], "") }
    #expect(error?.code == .notSupported)
  }

  @Test(
    "The status of a command becomes the error that a caller can act on",
    arguments: [
      (0x01, BlueZError.Code.notSupported), (0x02, .notConnected), (0x03, .failed), (0x0a, .inProgress),
      (0x0b, .failed), (0x0d, .invalidArgument), (0x0f, .notPowered), (0x11, .noAdapter), (0x14, .notPermitted),
      (0xff, .failed),
    ] as [(UInt8, BlueZError.Code)])
  func statuses(status: UInt8, code: BlueZError.Code) {
    #expect(BlueZError(managementStatus: 0, while: "testing") == nil)
    let error = BlueZError(managementStatus: status, while: "testing")
    #expect(error?.code == code)
    #expect(error?.message.hasPrefix("testing: management status 0x") == true)
    #expect((error?.hint?.contains("CAP_NET_ADMIN") == true) == (code == .notPermitted))
  }

  @Test("No packet, however odd, ends the program", arguments: 0..<20)
  func oddPackets(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let seeds = [Self.powers, Self.update, Self.information, Self.defaults]
    for _ in 0..<2_000 {
      var bytes = seeds.randomElement(using: &generator) ?? []
      for _ in 0..<Int.random(in: 0...4, using: &generator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        bytes[place] = .random(in: 0...255, using: &generator)
      }
      bytes = Array(bytes.prefix(.random(in: 0...bytes.count, using: &generator)))
      _ = ManagementPacket(bytes)?.reply(to: 0x31, 0)
      _ = LinkReading(bytes, of: Self.address)
      _ = AdapterSettings(bytes)
      _ = PHYConfiguration(bytes)
      for parameters in [ConnectionParameters(event: bytes, of: Self.address), ConnectionParameters(defaults: bytes)] {
        // What is valid is written as it was read.
        guard let parameters, let fields = try? parameters.fields("") else { continue }
        #expect(fields[0] <= fields[1])
        #expect(
          ConnectionParameters.init(least:most:latency:timeout:)(fields[0], fields[1], fields[2], fields[3])
            == parameters)
      }
    }
  }
}
