import BlueZTesting
import DBusTesting
import Testing

@testable import BlueZ

/// Tests of adapters: which is which, and what is reported while bluetoothd does not list them.
extension ContractTests {
  private func withTwins(_ body: (FakeBlueZ, _ first: Adapter, _ second: Adapter) async throws -> Void) async throws {
    var configuration = FakeBlueZ.Configuration()
    configuration.sharedAddress = BluetoothAddress("00:1A:7D:DA:71:13")
    let lab = try await FakeBlueZ.start(configuration)
    let session = try await lab.session()
    let first = try await session.adapter(lab.adapters[0].name)
    let second = try await session.adapter(lab.adapters[1].name)
    try await body(lab, first, second)
    session.close()
    try await lab.stop()
  }

  @Test("Two adapters with one address are two adapters")
  func twinsAreTwo() async throws {
    try await withTwins { lab, first, second in
      #expect(first != second)
      #expect(first.address == second.address)
      #expect(first.session.adapters == [first, second])
      try await second.setAlias("Second")
      #expect(second.alias == "Second")
      #expect(first.alias != "Second")
      let advertisement = try await second.advertise(.init(name: "Lamp"))
      #expect(await lab.adapters.first?.holdings().advertisements == 0)
      #expect(await lab.adapters.last?.holdings().advertisements == 1)
      try await advertisement.stop()
    }
  }

  @Test("Each of two adapters with one address gets its own back after a restart of bluetoothd")
  func twinsAreRestored() async throws {
    try await withTwins { lab, _, second in
      let advertisement = try await second.advertise(.init(name: "Lamp"))
      try await lab.restart()
      await settled { await lab.adapters[1].holdings().advertisements == 1 }
      #expect(await lab.adapters[0].holdings().advertisements == 0)
      try await advertisement.stop()
    }
  }

  @Test("An adapter that was unplugged is not mistaken for another one with its address")
  func aTwinDoesNotReplaceTheOther() async throws {
    try await withTwins { lab, first, second in
      try await lab.adapters[1].unplug()
      await settled { second.name == nil }
      #expect(first.name == lab.adapters[0].name)
      let error = await #expect(throws: BlueZError.self) { try await second.setAlias("Second") }
      #expect(error?.code == .noAdapter)
      try await lab.adapters[1].plugIn()
      await settled { second.name == lab.adapters[1].name }
    }
  }

  @Test("Without a message bus a session is refused with a hint", arguments: ["unix:path=/nonexistent/bus", "bad"])
  func noBus(at address: String) async throws {
    let error = await #expect(throws: BlueZError.self) { try await Session.open(bus: .address(address)) }
    #expect(error?.code == .serviceUnavailable)
    #expect(error?.hint?.contains("systemctl start dbus") == true)
  }

  @Test("Objects that bluetoothd does not return are read again, and the reason is reported meanwhile")
  func anUnreadableServiceIsReadAgain() async throws {
    let bus = try PrivateBus()
    let daemon = try await bus.connect()
    #expect(try await daemon.requestName("org.bluez") == .owner)
    let session = try await Session.open(bus: .address(bus.address))
    let error = await #expect(throws: BlueZError.self) { try await session.adapter(timeout: .milliseconds(50)) }
    #expect(error?.code == .staleHandle)
    #expect(error?.message.contains("reading the objects of bluetoothd") == true)
    let root = try daemon.export(.root, objectManager: true)
    await settled { session.isServiceUp }
    session.close()
    withExtendedLifetime(root) {}
  }
}
