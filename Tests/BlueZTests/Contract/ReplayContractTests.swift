import BlueZ
import BlueZTesting
import Btsnoop
import Testing

@Suite("A recorded device in the fake", .timeLimit(.minutes(5)))
struct ReplayContractTests {
  /// A sensor with a readable value at 12, a stream at 15 and a request at 18 that is answered there.
  private static func sensor() -> RecordedDevice {
    var device = RecordedDevice(address: DeviceAddress("C0:00:00:00:00:42", kind: .random)!)
    device.advertisement = AdvertisingData([2, 1, 6, 3, 3, 0x0d, 0x18, 5, 9, 0x4c, 0x61, 0x6d, 0x70])
    device.mtu = 100
    device.rssi = -42
    device.table.add(AttributeTable.Service(handle: 10, end: 20, uuid: AttributeUUID(0x180d), isPrimary: true))
    for (handle, properties, uuid) in [(11, 0x02, 0x2a38), (14, 0x10, 0x2a37), (17, 0x08, 0x2a39)]
      as [(UInt16, UInt8, UInt16)]
    {
      device.table.add(
        AttributeTable.Characteristic(
          handle: handle, properties: properties, valueHandle: handle + 1, uuid: AttributeUUID(uuid)))
    }
    device.table.add(AttributeTable.Descriptor(handle: 16, uuid: AttributeUUID(0x2902)))
    device.answers[12] = [.init([1]), .init([], error: ATTError(rawValue: 0x81))]
    device.reactions = [
      .init(
        .subscription(handle: 15), sent: (0..<3).map { .init(handle: 15, value: [0, 70 + $0], delay: 500_000_000) }),
      .init(.write(handle: 18, [1])), .init(.write(handle: 18, [2]), error: ATTError(rawValue: 0x80)),
    ]
    return device
  }

  private func withSensor(
    _ device: RecordedDevice = sensor(), pace: Double = 0,
    _ body: (FakeBlueZ, ReplayedDevice, Device) async throws -> Void
  ) async throws {
    let lab = try await FakeBlueZ.start(adapters: 1)
    let replayed = try await lab.replay(device, pace: pace)
    let adapter = try await lab.adapter(0)
    try await adapter.withConnection(to: .init(services: ["180d"])) { try await body(lab, replayed, $0) }
    adapter.session.close()
    try await lab.stop()
  }

  private func refused(_ error: any Error, _ code: String) -> Bool {
    guard let error = error as? BlueZError else { return false }
    return error.code == .attributeError ? "\(error)".contains(code) : false
  }

  private func characteristic(_ uuid: BluetoothUUID, _ device: Device) throws -> RemoteCharacteristic {
    try device.characteristic(uuid, in: "180d")
  }

  @Test func `it is found with its address, name and RSSI, and is no adapter`() async throws {
    try await withSensor { lab, replayed, device in
      #expect(device.address == BluetoothAddress("C0:00:00:00:00:42"))
      #expect(replayed.address == device.address)
      #expect(device.addressType == .random)
      #expect(device.name == "Lamp")
      let session = try await lab.session()
      #expect(session.adapters.count == 1)
      #expect(session.adapters.first?.devices.count == 1)
      session.close()
    }
  }

  @Test func `its reads have the recorded answers, and other requests are refused`() async throws {
    try await withSensor { _, replayed, device in
      let location = try characteristic("2a38", device)
      #expect(try await location.read() == [1])
      await #expect { try await location.read() } throws: { refused($0, "0x81") }
      let point = try characteristic("2a39", device)
      try await point.write([1])
      await #expect { try await point.write([2]) } throws: { refused($0, "0x80") }
      #expect(await replayed.unrecorded == [])
      await #expect { try await point.write([3]) } throws: { refused($0, "0x13") }
      #expect(await replayed.unrecorded == ["write of 1 bytes to handle 18"])
    }
  }

  @Test func `its stream comes after each subscription`() async throws {
    try await withSensor { _, _, device in
      let measurement = try characteristic("2a37", device)
      for _ in 0..<2 {
        var values: [[UInt8]] = []
        for try await value in try await measurement.notifications() {
          values.append(value)
          if values.count == 3 { break }
        }
        #expect(values == [[0, 70], [0, 71], [0, 72]])
      }
    }
  }

  @Test func `it survives a restart of bluetoothd, and can leave`() async throws {
    let lab = try await FakeBlueZ.start(adapters: 1)
    let replayed = try await lab.replay(Self.sensor())
    let adapter = try await lab.adapter(0)
    _ = try await adapter.find(.init(services: ["180d"]))
    // Not at once: the session may have seen the end of bluetoothd and not yet its start.
    let session = adapter.session.events()
    try await lab.restart()
    for await event in session where event == .restored { break }
    try await adapter.withConnection(to: .init(services: ["180d"])) { device in
      let events = device.events()
      await replayed.remove()
      for await event in events {
        if case .disconnected = event { break }
      }
    }
    await #expect(throws: BlueZError.self) {
      try await adapter.find(.init(services: ["180d"]), timeout: .milliseconds(300))
    }
    adapter.session.close()
    try await lab.stop()
  }

  @Test func `the lab's device has its attributes by their handles`() async throws {
    let device = try RecordedDevice.ofLab("gatt-peer")
    #expect(device.table.characteristics.count == 13)
    let lab = try await FakeBlueZ.start(adapters: 1)
    try await lab.replay(device)
    let adapter = try await lab.adapter(0)
    let found = try await adapter.find(.init())
    try await found.connect()
    let services = found.services
    #expect(services.count == 2)
    adapter.session.close()
    try await lab.stop()
  }
}
