import BlueZ
import Testing

/// What goes past bluetoothd, to a real kernel.
extension RadioTests {
  @Suite("The kernel's management interface", .enabled(if: Radio.isLab, "needs the radio lab, and root in it"))
  struct Management {
    private static let slow = ConnectionParameters(
      interval: .milliseconds(100) ... .milliseconds(200), supervisionTimeout: .seconds(4))

    @Test(
      "Without CAP_NET_ADMIN settings and preferences are readable, and all else is refused", .timeLimit(.minutes(5)))
    func withoutPrivileges() async throws {
      try await ChannelPair.with { pair in
        try await pair.device.connect()
        let session = try await Session.open(bus: .system) {
          try Capability.netAdmin.without { try ManagementSocket() }
        }
        defer { session.close() }
        let adapter = try await session.adapter(Radio.mac)
        let device = try #require(adapter.device(pair.device.peer))
        #expect(try await adapter.settings().current.isSuperset(of: [.powered, .lowEnergy, .secureConnections]))
        let preferred = try await adapter.preferredConnectionParameters()
        let error = await #expect(throws: BlueZError.self) { try await device.linkReading() }
        #expect(error?.code == .notPermitted)
        #expect(error?.hint?.contains("CAP_NET_ADMIN") == true)
        #expect(try await code { try await device.connectionParameterUpdates() } == .notPermitted)
        #expect(try await code { try await device.setPreferredConnectionParameters(Self.slow) } == .notPermitted)
        #expect(try await code { try await adapter.setPreferredConnectionParameters(Self.slow) } == .notPermitted)
        #expect(try await code { try await adapter.phys() } == .notPermitted)
        #expect(try await code { try await adapter.setSecureConnections(.required) } == .notPermitted)
        #expect(try await adapter.preferredConnectionParameters() == preferred)
      }
    }

    @Test(
      "A link is read until it ends", .enabled(if: Radio.python != nil, Radio.peersNeeded), .timeLimit(.minutes(5)))
    func readings() async throws {
      let peer = try LabPeer("gatt_peer.py", ["--timeout", "290"])
      defer { peer.terminate() }
      let adapter = try await peer.adapter()
      let event = try await peer.next("advertising")
      let address = try #require((event["address"] as? String).flatMap(BluetoothAddress.init))
      let device = try await adapter.find(address, timeout: .seconds(60))
      #expect(try await code { try await device.linkReading() } == .notConnected)
      try await device.connect()
      let known = LinkReading(rssi: -50, transmitPower: 4, maximumTransmitPower: 10)
      #expect(try await device.linkReading() == known)
      var readings = device.linkReadings(every: .milliseconds(100)).makeAsyncIterator()
      for _ in 0..<3 { #expect(try await readings.next() == known) }
      try await device.disconnect()
      while let reading = try await readings.next() { #expect(reading == known) }
    }

    /// The controllers of btvirt do not know how to measure it.
    @Test(
      "A link that its controller cannot measure is refused", .enabled(if: Radio.isBtvirt, Radio.btvirtNeeded),
      .timeLimit(.minutes(5)))
    func noReadings() async throws {
      try await ChannelPair.with { pair in
        try await pair.device.connect()
        let refusal = try await code { for try await _ in pair.device.linkReadings() {} }
        #expect(refusal == .failed)
      }
    }

    @Test(
      "The parameters that a peripheral asks for are an update at its central",
      .enabled(if: Radio.isBtvirt, Radio.btvirtNeeded),
      .timeLimit(.minutes(5)))
    func updates() async throws {
      try await ChannelPair.with { pair in
        let usual = try await pair.host.preferredConnectionParameters()
        // The kernel of a peripheral asks for its own preferences where the connection has others.
        try await pair.host.setPreferredConnectionParameters(Self.slow)
        #expect(try await pair.host.preferredConnectionParameters() == Self.slow)
        let updates = try await pair.device.connectionParameterUpdates()
        try await pair.device.connect()
        let first = try await bounded(.seconds(60), "the update") { await updates.first { _ in true } }
        #expect(first?.interval == Self.slow.interval)
        try await pair.host.setPreferredConnectionParameters(usual)
      }
    }

    @Test("Secure Connections can be required, and the kernel says so", .timeLimit(.minutes(5)))
    func secureConnections() async throws {
      let adapter = try await Radio.adapter(Radio.phone)
      #expect(try await adapter.settings().requiresSecureConnections == false)
      try await adapter.setSecureConnections(.required)
      let required = try await adapter.settings()
      #expect(required.requiresSecureConnections == true)
      #expect(required.current.contains(.secureConnections))
      try await adapter.setSecureConnections(.off)
      #expect(try await !adapter.settings().current.contains(.secureConnections))
      try await adapter.setSecureConnections(.preferred)
      #expect(try await adapter.settings().current.contains(.secureConnections))
    }

    @Test("Privacy can be set while the adapter is off", .timeLimit(.minutes(5)))
    func privacy() async throws {
      let adapter = try await Radio.adapter(Radio.phone)
      #expect(try await code { try await adapter.setPrivacy(.off) } == .notPermitted)
      try await adapter.setPowered(false)
      try await adapter.setPrivacy(.always(key: [UInt8](1...16)))
      #expect(try await adapter.settings().current.contains(.privacy))
      try await adapter.setPrivacy(.off)
      #expect(try await !adapter.settings().current.contains(.privacy))
      try await adapter.setPowered(true)
    }

    @Test("PHYs are those of the controller, and another one is refused", .timeLimit(.minutes(5)))
    func phys() async throws {
      let adapter = try await Radio.adapter(Radio.phone)
      let phys = try await adapter.phys()
      #expect(phys.transmit.contains(.oneMegabit))
      try await adapter.setPHYs(transmit: phys.transmit, receive: phys.receive)
      let missing = Set(PHY.allCases).subtracting(phys.supportedTransmit)
      for phy in missing {
        #expect(try await code { try await adapter.setPHYs(transmit: [phy], receive: []) } == .notSupported)
      }
    }

    /// Returns the code of the error that an operation throws; `nil` when it succeeds.
    private func code(_ body: () async throws -> some Sendable) async throws -> BlueZError.Code? {
      do {
        _ = try await body()
        return nil
      } catch let error as BlueZError {
        return error.code
      }
    }
  }
}
