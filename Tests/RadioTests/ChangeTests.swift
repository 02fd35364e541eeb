import BlueZ
import Testing

/// What changes while it is in use, with the real bluetoothd.
extension RadioTests {
  @Suite("Changes in place") struct Changes {
    private static let service: BluetoothUUID = "ec0d0301-ec0d-ec0d-ec0d-ec0d0301ec0d"
    private static let value: BluetoothUUID = "ec0d0302-ec0d-ec0d-ec0d-ec0d0302ec0d"

    @Test("An advertisement that changes in place is heard with its new content", .timeLimit(.minutes(5)))
    func anAdvertisementChanges() async throws {
      let beacon = try await Radio.adapter(Radio.phone)
      let scanner = try await Radio.adapter(Radio.mac)
      let data: @Sendable (UInt8) -> [UInt16: [UInt8]] = { [0xffff: [3, $0]] }
      let advertisement = try await beacon.advertise(.init(services: [Self.service], manufacturerData: data(1)))
      let results = try await scanner.discover(.init(services: [Self.service], duplicates: true))
      for count in UInt8(1)...3 {
        try await bounded(.seconds(60), "the advertisement with \(count)") {
          for await result in results where result.advertisement?.manufacturerData == data(count) { return }
          throw TestTimeout(phase: "the scan ended")
        }
        try advertisement.update(.init(services: [Self.service], manufacturerData: data(count + 1)))
      }
      #expect(advertisement.isRunning)
      try await advertisement.stop()
    }

    @Test("A change of the peer's services is an event during a connection", .timeLimit(.minutes(5)))
    func servicesChange() async throws {
      let peripheral = try await Radio.adapter(Radio.phone)
      let central = try await Radio.adapter(Radio.mac)
      let value = LocalCharacteristic(Self.value, .notify)
      let offered = try await peripheral.offer([LocalService(Self.service, characteristics: [value])])
      let advertisement = try await peripheral.advertise(.init(services: [Self.service]))
      let device = try await central.find(.init(services: [Self.service]), timeout: .seconds(60))
      _ = try await device.connect(.direct(timeout: .seconds(60)))
      let remote = try device.characteristic(Self.value, in: Self.service)
      #expect(!remote.isNotifying)
      let notifications = try await remote.notifications()
      let events = device.events()
      let more = try await peripheral.offer([
        LocalService("180f", characteristics: [LocalCharacteristic("2a19", .notify)])
      ])
      try await bounded(.seconds(60), "the new service") {
        for await event in events where event == .servicesChanged { return }
        throw TestTimeout(phase: "the events ended")
      }
      #expect(remote.isNotifying)
      try await device.disconnect()
      withExtendedLifetime((offered, advertisement, notifications, more)) {}
    }
  }
}
