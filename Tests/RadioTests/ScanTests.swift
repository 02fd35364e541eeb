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
  }
}
