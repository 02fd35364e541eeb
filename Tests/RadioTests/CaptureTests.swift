import BlueZ
import Foundation
import Testing

extension RadioTests {
  @Suite("A recording of real traffic") struct Capture {
    /// The service that is read, and what it is recorded as.
    private static let service: BluetoothUUID = "ec0d0501-ec0d-ec0d-ec0d-ec0d0501ec0d"
    private static let characteristic: BluetoothUUID = "ec0d0502-ec0d-ec0d-ec0d-ec0d0502ec0d"

    /// A peripheral with one value is read and written while the command records; then the file is shown.
    @Test("The command records what goes over the air, and shows it", .enabled(if: Command.isBuilt, Command.needed))
    func traffic() async throws {
      let file = FileManager.default.temporaryDirectory.appending(path: "radio-\(UUID().uuidString).btsnoop").path
      let recorder = try Subprocess(Command.path, ["capture", file, "--json"])
      _ = try await recorder.line(with: "\"started\"")
      try await exchange()
      _ = try await recorder.line(with: "\"disconnected\"")
      #expect(try await recorder.end() == 0)

      let shown = try await objects(["capture", "show", file, "--json"])
      let events = shown.compactMap { $0["event"] as? String }
      #expect(events.contains("connected"))
      #expect(events.contains("disconnected"))
      let statistics = try #require(shown.last)
      #expect(statistics["event"] as? String == "statistics")
      #expect(statistics["malformed"] as? Int == 0)
      let attributes = try #require(statistics["attributes"] as? [[String: Any]])
      let rows = attributes.filter { $0["characteristic"] as? String == Self.characteristic.description }
      // Each of the two adapters of this host has recorded its own side.
      #expect(rows.compactMap { $0["reads"] as? Int } == [1, 1])
      #expect(rows.compactMap { $0["writes"] as? Int } == [1, 1])
    }

    private func exchange() async throws {
      let central = try await Radio.adapter(Radio.mac)
      let peripheral = try await Radio.adapter(Radio.phone)
      defer {
        central.session.close()
        peripheral.session.close()
      }
      let sightings = try await central.discover(.init(services: [Self.service]))
      let value = LocalCharacteristic(
        Self.characteristic, [.read, .write], read: { _ in [1, 2, 3] }, writes: .handler { _ in })
      let application = try await peripheral.offer([LocalService(Self.service, characteristics: [value])])
      let advertisement = try await peripheral.advertise(.init(services: [Self.service]))
      let device = try await sightings.firstDevice("the advertisement")
      try await device.connect()
      let remote = try device.characteristic(Self.characteristic, in: Self.service)
      #expect(try await remote.read() == [1, 2, 3])
      try await remote.write([4])
      try await device.disconnect()
      try await advertisement.stop()
      try await application.unregister()
    }

    private func objects(_ arguments: [String]) async throws -> [[String: Any]] {
      let process = try Subprocess(Command.path, arguments)
      var objects: [[String: Any]] = []
      for await line in process.lines {
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        objects.append(try #require(object, "\(line)"))
      }
      #expect(await process.status() == 0)
      return objects
    }
  }
}
