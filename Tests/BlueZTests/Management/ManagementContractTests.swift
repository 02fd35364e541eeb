import BlueZTesting
import Testing

@testable import BlueZ

/// Tests of what goes through the kernel's management interface, with an imitation of it.
@Suite("The management interface of a fake kernel", .timeLimit(.minutes(5))) struct ManagementContractTests {
  /// The address of the peer, as the kernel has it.
  private static let peer: [UInt8] = [0, 0, 0, 0, 0xeb, 2, 1]

  private static func powers(_ rssi: Int8 = -60) -> [UInt8] { peer + [UInt8(bitPattern: rssi), 4, 127] }

  /// Answers Read Commands as for a program with the capability, and all else with a reply.
  private static func privileged(_ command: ManagementPacket, _ parameters: [UInt8]) -> [ManagementPacket] {
    guard command.code == ManagementCommand.readCommands.rawValue else {
      return [.completion(of: command, parameters)]
    }
    return [.completion(of: command, [2, 0, 1, 0, 4, 0, 0x31, 0, 0x1c, 0])]
  }

  /// Runs a test with a central that is connected to a peripheral.
  private func withLink(
    _ kernel: FakeKernel, _ body: (FakeBlueZ, Adapter, Device) async throws -> Void
  ) async throws {
    let lab = try await FakeBlueZ.start()
    let opened = try await Parlour().open(on: try await lab.adapter(0))
    let session = try await Session.open(bus: lab.bus, version: lab.configuration.version) { try kernel.open() }
    let adapter = try await session.adapter(lab.adapters[1].name)
    let device = try await firstSeen(by: adapter)
    try await device.connect()
    try await body(lab, adapter, device)
    session.close()
    await settled { kernel.openSockets == 0 }
    withExtendedLifetime(opened) {}
    try await lab.stop()
  }

  @Test("A reading asks for the device at its adapter, and has what the kernel says") func aReading() async throws {
    let kernel = FakeKernel(.getConnectionInformation, Self.powers())
    try await withLink(kernel) { lab, _, device in
      #expect(device.address == lab.adapters[0].address)
      let reading = try await device.linkReading()
      #expect(reading == LinkReading(rssi: -60, transmitPower: 4))
      #expect(kernel.commands == [ManagementPacket(0x31, 1001, Self.peer)])
    }
  }

  @Test("A reply is found among events, replies to others and packets without sense") func aReplyAmongOthers()
    async throws
  {
    let kernel = FakeKernel { command in
      [
        ManagementPacket(0x0012, command.index, [1, 2, 3]), ManagementPacket(0x0001, command.index, [0x31]),
        .completion(of: ManagementPacket(0x31, 7, []), status: 3, []),
        .completion(of: ManagementPacket(0x44, command.index, []), status: 3, []),
        .completion(of: command, Self.powers(-40)),
      ]
    }
    try await withLink(kernel) { _, _, device in
      let reading = try await device.linkReading()
      #expect(reading.rssi == -40)
    }
  }

  @Test("A reply that is too short, or about another device, is an error") func wrongReplies() async throws {
    let kernel = FakeKernel(.getConnectionInformation, Array(Self.powers().dropLast()))
    try await withLink(kernel) { _, adapter, device in
      let short = try await code { try await device.linkReading() }
      #expect(short == .failed)
      kernel.answer { [.completion(of: $0, [9] + Self.powers().dropFirst())] }
      #expect(try await code { try await device.linkReading() } == .failed)
      #expect(try await code { try await adapter.settings() } == .failed)
      #expect(try await code { try await adapter.preferredConnectionParameters() } == .failed)
      #expect(try await code { try await adapter.phys() } == .failed)
      #expect(try await code { try await device.connectionParameterUpdates() } == .notPermitted)
    }
  }

  @Test("Without the capability each operation is refused, and the hint names it") func refusals() async throws {
    let kernel = FakeKernel { command in
      // As Linux 6.1 does for a program without privileges.
      command.code == ManagementCommand.readCommands.rawValue
        ? [.completion(of: command, [2, 0, 1, 0, 3, 0, 4, 0, 4, 0])] : [.status(of: command, 0x14)]
    }
    try await withLink(kernel) { _, adapter, device in
      let error = await #expect(throws: BlueZError.self) { try await device.linkReading() }
      #expect(error?.code == .notPermitted)
      #expect(error?.hint?.contains("CAP_NET_ADMIN") == true)
      let parameters = ConnectionParameters(
        interval: .milliseconds(30) ... .milliseconds(50), supervisionTimeout: .seconds(2))
      let several = try await code { for try await _ in device.linkReadings() {} }
      #expect(several == .notPermitted)
      #expect(try await code { try await device.connectionParameterUpdates() } == .notPermitted)
      #expect(try await code { try await device.setPreferredConnectionParameters(parameters) } == .notPermitted)
      #expect(try await code { try await adapter.setPreferredConnectionParameters(parameters) } == .notPermitted)
      #expect(try await code { try await adapter.phys() } == .notPermitted)
      #expect(try await code { try await adapter.setPHYs(transmit: [], receive: []) } == .notPermitted)
      #expect(try await code { try await adapter.setSecureConnections(.required) } == .notPermitted)
    }
  }

  @Test("Where the kernel has no Bluetooth, the error says so") func noKernel() async throws {
    let lab = try await FakeBlueZ.start()
    let session = try await Session.open(bus: lab.bus, version: lab.configuration.version) {
      throw BlueZError(errno: 97, while: "opening the kernel's management interface")
    }
    let adapter = try await session.adapter()
    #expect(try await code { try await adapter.settings() } == .notSupported)
    session.close()
    try await lab.stop()
  }

  @Test("Readings end with the link", arguments: [true, false])
  func readingsEndWithTheLink(isKnownToTheKernel: Bool) async throws {
    let kernel = FakeKernel(.getConnectionInformation, Self.powers())
    try await withLink(kernel) { lab, _, device in
      var readings = device.linkReadings(every: .milliseconds(100)).makeAsyncIterator()
      for _ in 0..<2 { #expect(try await readings.next()?.rssi == -60) }
      if isKnownToTheKernel {
        kernel.answer { [.completion(of: $0, status: 2, Self.powers(127))] }
      } else {
        await lab.adapters[1].loseConnections()
      }
      while try await readings.next() != nil {}
      await settled { kernel.openSockets == 0 }
    }
  }

  @Test("Readings end with the session, and each later one is empty") func readingsEndWithTheSession() async throws {
    let kernel = FakeKernel(.getConnectionInformation, Self.powers())
    try await withLink(kernel) { _, adapter, device in
      let readings = device.linkReadings(every: .seconds(3600))
      var iterator = readings.makeAsyncIterator()
      let first = try await iterator.next()
      #expect(first != nil)
      adapter.session.close()
      #expect(try await iterator.next() == nil)
      #expect(try await code { for try await _ in device.linkReadings() {} } == nil)
    }
  }

  @Test("Readings of a device without a connection are refused with the first") func readingsWithoutALink() async throws
  {
    let kernel = FakeKernel { [.completion(of: $0, status: 2, Self.powers(127))] }
    try await withLink(kernel) { _, _, device in
      let refusal = try await code { for try await _ in device.linkReadings() {} }
      #expect(refusal == .notConnected)
    }
  }

  @Test("A cancelled reading ends at once, also while the kernel is silent") func cancelledReadings() async throws {
    let kernel = FakeKernel { _ in [] }
    try await withLink(kernel) { _, _, device in
      let single = Task { try await device.linkReading() }
      let several = Task { for try await _ in device.linkReadings() {} }
      await settled { kernel.commands.count == 2 }
      single.cancel()
      several.cancel()
      await #expect(throws: CancellationError.self) { try await single.value }
      try await several.value
      await settled { kernel.openSockets == 0 }
    }
  }

  @Test("Readings that nobody consumes are dropped and counted, and released ones end") func slowConsumer() async throws
  {
    let kernel = FakeKernel(.getConnectionInformation, Self.powers())
    try await withLink(kernel) { _, _, device in
      let observers = device.core.state.withLock { $0.observers.all.count }
      func neglect() async {
        let readings = device.linkReadings(every: .zero, limit: 1)
        await settled { readings.dropped >= 2 }
      }
      await neglect()
      await settled { device.core.state.withLock { $0.observers.all.count } == observers }
    }
  }

  @Test("A stranger's parameters are not the device's, and updates end with the session") func updates() async throws {
    let kernel = FakeKernel { Self.privileged($0, []) }
    try await withLink(kernel) { _, adapter, device in
      let stream = try await device.connectionParameterUpdates()
      func event(_ address: [UInt8], _ interval: UInt8, at index: UInt16 = 1001, code: UInt16 = 0x1c) -> [UInt8] {
        ManagementPacket(code, index, address + [0, interval, 0, interval, 0, 0, 0, 200, 0]).bytes
      }
      kernel.send(event(Self.peer.dropLast() + [2], 8))
      kernel.send(event(Self.peer, 16, at: 1000))
      kernel.send(event(Self.peer, 24, code: 0x1d))
      kernel.send(Array(event(Self.peer, 32).dropLast()))
      kernel.send(event(Self.peer, 40))
      _ = try await device.connectionParameterUpdates()
      await settled { kernel.openSockets == 1 }
      var updates = stream.makeAsyncIterator()
      let first = await updates.next()
      #expect(first?.interval == .milliseconds(50) ... .milliseconds(50))
      #expect(first?.supervisionTimeout == .seconds(2))
      adapter.session.close()
      #expect(await updates.next() == nil)
    }
  }

  @Test("Preferred parameters go to the kernel as it reads them; for a linked device again, to update the link")
  func preferences() async throws {
    let kernel = FakeKernel { Self.privileged($0, []) }
    try await withLink(kernel) { lab, adapter, device in
      let parameters = ConnectionParameters(
        interval: .milliseconds(30) ... .milliseconds(50), latency: 2, supervisionTimeout: .seconds(5))
      let fields: [UInt8] = [24, 0, 40, 0, 2, 0, 0xf4, 1]
      let entries = ManagementPacket(0x35, 1001, [1, 0] + Self.peer + fields)
      try await device.setPreferredConnectionParameters(parameters)
      #expect(kernel.commands == [entries, entries])
      await lab.adapters[1].loseConnections()
      await settled { !device.isConnected }
      try await device.setPreferredConnectionParameters(parameters)
      #expect(kernel.commands.count == 3)
      try await adapter.setPreferredConnectionParameters(parameters)
      let defaults: [UInt8] = [0x17, 0, 2, 24, 0, 0x18, 0, 2, 40, 0, 0x19, 0, 2, 2, 0, 0x1a, 0, 2, 0xf4, 1]
      #expect(kernel.commands.last == ManagementPacket(0x4c, 1001, defaults))
      kernel.answer { [.completion(of: $0, defaults)] }
      #expect(try await adapter.preferredConnectionParameters() == parameters)
      let impossible = ConnectionParameters(interval: .zero ... .zero, supervisionTimeout: .zero)
      #expect(try await code { try await device.setPreferredConnectionParameters(impossible) } == .invalidArgument)
      #expect(kernel.commands.count == 5)
    }
  }

  @Test("Settings of pairing and privacy go to the kernel as it reads them") func settings() async throws {
    let kernel = FakeKernel { Self.privileged($0, []) }
    try await withLink(kernel) { lab, adapter, _ in
      for use in AdapterSettings.SecureConnections.allCases { try await adapter.setSecureConnections(use) }
      #expect(kernel.commands == [0, 1, 2].map { ManagementPacket(0x2d, 1001, [$0]) })
      let key = [UInt8](0..<16)
      #expect(try await code { try await adapter.setPrivacy(.always(key: key)) } == .notPermitted)
      await lab.adapters[1].switchOff()
      await settled { !adapter.isPowered }
      #expect(try await code { try await adapter.setPrivacy(.always(key: [1])) } == .invalidArgument)
      #expect(try await code { try await adapter.setPHYs(transmit: [], receive: []) } == .failed)
      let count = kernel.commands.count
      try await adapter.setPrivacy(.always(key: key))
      try await adapter.setPrivacy(.limited(key: key))
      try await adapter.setPrivacy(.off)
      let sent = [[1] + key, [2] + key, [UInt8](repeating: 0, count: 17)].map { ManagementPacket(0x2f, 1001, $0) }
      #expect(Array(kernel.commands[count...]) == sent)
    }
  }

  @Test("PHYs are selected beside those that cannot be left out, on an adapter that is on") func phys() async throws {
    let kernel = FakeKernel { Self.privileged($0, $0.code == 0x44 ? [0, 0x1e, 0, 0, 0, 0x18, 0, 0, 0, 6, 0, 0] : []) }
    try await withLink(kernel) { lab, adapter, _ in
      try await adapter.setPHYs(transmit: [.twoMegabit], receive: [])
      #expect(kernel.commands.last == ManagementPacket(0x45, 1001, [0, 0x0e, 0, 0]))
      #expect(try await code { try await adapter.setPHYs(transmit: [.coded], receive: []) } == .notSupported)
      await lab.adapters[1].switchOff()
      await settled { !adapter.isPowered }
      #expect(try await code { try await adapter.setPHYs(transmit: [], receive: []) } == .notPowered)
    }
  }
}
