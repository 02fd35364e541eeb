import BlueZ
import Foundation
import Testing

/// How a device is connected for the first time, and again, by the real bluetoothd.
extension RadioTests {
  @Suite("Connecting without a scan", .enabled(if: Radio.isLab, Radio.labNeeded)) struct Reconnecting {
    private static let service: BluetoothUUID = "ec0d0311-ec0d-ec0d-ec0d-ec0d0311ec0d"
    private static let value: BluetoothUUID = "ec0d0312-ec0d-ec0d-ec0d-ec0d0312ec0d"

    private struct Pair {
      let sensor: Adapter
      let central: Adapter
      let application: GATTApplication

      init() async throws {
        sensor = try await Radio.adapter(Radio.phone)
        central = try await Radio.adapter(Radio.mac)
        try await central.awaitEnd(ofConnectionTo: sensor)
        let value = LocalCharacteristic(Reconnecting.value, value: [42])
        application = try await sensor.offer([LocalService(Reconnecting.service, characteristics: [value])])
        // What earlier tests have left is known, and would not need the method.
        try await central.device(sensor.address)?.remove()
      }

      func advertise() async throws -> Advertisement {
        try await sensor.advertise(.init(services: [Reconnecting.service]))
      }

      func close() {
        sensor.session.close()
        central.session.close()
      }
    }

    @Test("A device that was never seen is connected by its address and type", .timeLimit(.minutes(5)))
    func unseenDevice() async throws {
      let pair = try await Pair()
      defer { pair.close() }
      let advertisement = try await pair.advertise()
      let scans = pair.central.values(of: \.isDiscovering)
      let options = ConnectOptions.direct(timeout: .seconds(60))
      let connection = try await pair.central.connect(to: pair.sensor.address, type: .public, options)
      let device = try await connection.device()
      #expect(try await device.characteristic(Self.value, in: Self.service).read() == [42])
      try await device.disconnect()
      try await pair.central.awaitEnd(ofConnectionTo: pair.sensor)
      // The next attempt is one to a device that bluetoothd knows.
      _ = try await pair.central.connect(to: pair.sensor.address, type: .public, options)
      try await advertisement.stop()
      pair.central.session.close()
      for await isScanning in scans { #expect(!isScanning) }
    }

    @Test("The link of a cancelled attempt is ended, although bluetoothd cannot withdraw it", .timeLimit(.minutes(5)))
    func cancelledAttempt() async throws {
      let pair = try await Pair()
      defer { pair.close() }
      let links = pair.sensor.connectionEvents()
      let address = pair.sensor.address
      let attempt = Task { [central = pair.central] in try await central.connect(to: address, type: .public) }
      try await Task.sleep(for: .seconds(2))
      attempt.cancel()
      await #expect(throws: CancellationError.self) { try await attempt.value }
      let advertisement = try await pair.advertise()
      try await bounded(.seconds(90), "the link and its end") {
        var isLinked = false
        for await event in links {
          switch event {
          case .connected: isLinked = true
          case .disconnected: if isLinked { return }
          }
        }
        throw TestTimeout(phase: "the events ended")
      }
      try await advertisement.stop()
    }

    @Test("bluetoothd compares all conditions of a scan", .timeLimit(.minutes(5)))
    func conditions() async throws {
      let adapter = try await Radio.adapter(Radio.phone)
      let all: Set<Adapter.DiscoveryFilter.Condition> = [
        .services, .minimumRSSI, .maximumPathLoss, .pattern, .transport, .duplicates, .discoverable,
      ]
      #expect(try await adapter.discoveryConditions().isSuperset(of: all))
      adapter.session.close()
    }

    @Test(
      "A kept connection to a device that bluetoothd knows scans passively, once for each attempt",
      .timeLimit(.minutes(5)))
    func scansOfAKeptConnection() async throws {
      let pair = try await Pair()
      defer { pair.close() }
      let advertisement = try await pair.advertise()
      let options = ConnectOptions.keepConnected(timeout: .seconds(3), backoff: .seconds(2), longestDelay: .seconds(2))
      let connection = try await pair.central.connect(to: pair.sensor.address, type: .public, options)
      _ = try await connection.device()
      let attempts = Task {
        var count = 0
        for await case .connecting in connection.states(limit: 64) { count += 1 }
        return count
      }
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("reconnecting.btsnoop").path
      try await Radio.fault("capture", "start", file)
      try await advertisement.stop()
      for peer in pair.sensor.connectedPeers { try await pair.sensor.device(peer)?.disconnect() }
      try await Task.sleep(for: .seconds(14))
      await connection.end()
      try await Radio.fault("capture", "stop")
      let index = try #require(UInt16(Radio.mac.dropFirst(3)))
      let scans = try HCICapture(file).scans(of: index)
      let count = await attempts.value
      print("scans in 14 s: \(scans), attempts: \(count)")
      #expect(count > 1)
      #expect(!scans.isEmpty)
      #expect(scans.allSatisfy { $0 == .passive })
      // The kernel may begin once more when an attempt ends.
      #expect(scans.count <= 2 * count)
    }
  }
}

/// The HCI traffic in a btsnoop file of the monitor.
private struct HCICapture {
  enum Scan { case passive, active }

  private var commands: [(adapter: UInt16, code: UInt16, parameters: [UInt8])] = []

  init(_ path: String) throws {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    func number(_ place: Int) -> Int { bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
    var place = 16
    while place + 24 <= bytes.count {
      let length = number(place + 4)
      let flags = number(place + 8)
      let body = bytes[(place + 24)...].prefix(length)
      // HCI commands.
      if flags & 0xffff == 2, body.count >= 3 {
        let code = UInt16(body[body.startIndex]) | UInt16(body[body.startIndex + 1]) << 8
        commands.append((UInt16(flags >> 16), code, Array(body.dropFirst(3))))
      }
      place += 24 + length
    }
  }

  /// Returns the scans that an adapter began, in order.
  func scans(of adapter: UInt16) -> [Scan] {
    var kind = Scan.passive
    var scans: [Scan] = []
    for command in commands where command.adapter == adapter {
      switch command.code {
      // LE Set Scan Parameters and LE Set Extended Scan Parameters.
      case 0x200b: kind = command.parameters.first == 1 ? .active : .passive
      case 0x2041: kind = command.parameters.dropFirst(3).first == 1 ? .active : .passive
      // LE Set Scan Enable and LE Set Extended Scan Enable.
      case 0x200c, 0x2042: if command.parameters.first == 1 { scans.append(kind) }
      default: continue
      }
    }
    return scans
  }
}
