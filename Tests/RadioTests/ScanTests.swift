import BlueZ
import SystemTesting
import Testing

extension RadioTests {
  @Suite("Scans that begin after the advertisement") struct Scans {
    private static let service: BluetoothUUID = "ec0d0321-ec0d-ec0d-ec0d-ec0d0321ec0d"

    /// The lab's controllers report an advertisement once for each scan: one that is missed is missed for the 15 s until
    /// bluetoothd begins to scan again.
    @Test("Ten scans in a row hear it at once", .timeLimit(.minutes(3))) func eachScanHears() async throws {
      let far = try await Radio.adapter(Radio.phone)
      let own = try await Radio.adapter(Radio.mac)
      let advertisement = try await far.advertise(.init(services: [Self.service]))
      for number in 1...10 {
        let device = try await own.discover(.init(services: [Self.service])).firstDevice(
          "the advertisement in scan \(number)", within: .seconds(10))
        // What bluetoothd remembers needs no scan, and a scan that is not over yet would go on as the next one.
        try await eventually { !own.isDiscovering }
        try await device.remove()
      }
      try await advertisement.stop()
      far.session.close()
      own.session.close()
    }

    /// The second scan begins with a filter that differs, so that bluetoothd does scan for it. That filter has to let
    /// advertisements through whose signal strength the controller does not measure, as btvirt's.
    @Test("A scan that began beside another one hears what comes after that one's end", .timeLimit(.minutes(3)))
    func heardAfterTheOthersEnd() async throws {
      let far = try await Radio.adapter(Radio.phone)
      let other = try await Radio.adapter(Radio.mac)
      let own = try await Radio.adapter(Radio.mac)
      let others = try await other.discover(.init(services: [Self.service]))
      let results = try await own.discover(.init(services: [Self.service]))
      withExtendedLifetime(others) { other.session.close() }
      // bluetoothd does not say that it has changed the filter.
      try await Task.sleep(for: .seconds(1))
      let advertisement = try await far.advertise(.init(services: [Self.service]))
      let device = try await results.firstDevice("the advertisement", within: .seconds(30))
      try await advertisement.stop()
      try await device.remove()
      far.session.close()
      own.session.close()
    }
  }
}
