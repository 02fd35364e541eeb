import BlueZ
import BlueZTesting
import Testing

extension ContractTests {
  private func withBearers(_ body: (FakeBlueZ, Adapter, Device) async throws -> Void) async throws {
    var configuration = FakeBlueZ.Configuration(version: BlueZRelease(5, 84))
    configuration.reportsBearers = true
    let lab = try await FakeBlueZ.start(configuration)
    let peripheral = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let offered = try await Parlour().open(on: peripheral)
    try await body(lab, central, try await firstSeen(by: central))
    withExtendedLifetime(offered) {}
    try await lab.stop()
  }

  @Test("A device that is linked over Classic alone is not connected, and can be connected to")
  func classicAlone() async throws {
    try await withBearers { lab, central, device in
      let events = device.events()
      await lab.adapters[1].setClassicLink(true, with: lab.adapters[0].address)
      #expect(!device.isConnected)
      try await device.connect()
      #expect(device.isConnected)
      #expect(try await device.characteristic(Parlour.box, in: Parlour.service).read().count == 18)
      var first: Device.Event?
      for await event in events where event == .connected || event == .disconnected(nil) {
        first = event
        break
      }
      #expect(first == .connected)
    }
  }

  @Test("Ending a link over LE leaves the one over Classic") func classicStays() async throws {
    try await withBearers { lab, central, device in
      await lab.adapters[1].setClassicLink(true, with: lab.adapters[0].address)
      try await device.connect()
      try await device.disconnect()
      #expect(!device.isConnected)
      #expect(await lab.adapters[1].holdings().links == 0)
      #expect(await lab.adapters[1].hasClassicLink(with: lab.adapters[0].address))
    }
  }

  @Test("The end of a session leaves a link over Classic") func sessionLeavesClassic() async throws {
    try await withBearers { lab, central, device in
      await lab.adapters[1].setClassicLink(true, with: lab.adapters[0].address)
      try await device.connect()
      device.session.close()
      await settled { await lab.adapters[1].holdings().links == 0 }
      #expect(await lab.adapters[1].hasClassicLink(with: lab.adapters[0].address))
    }
  }

  @Test("A lost link has its reason where bearers are reported") func reason() async throws {
    try await withBearers { lab, central, device in
      try await device.connect()
      let events = device.events()
      await lab.adapters[1].loseConnections()
      for await event in events {
        guard case .disconnected(let reason) = event else { continue }
        #expect(reason == .timeout)
        break
      }
    }
  }
}
