import BlueZ
import Streams
import Testing

/// What we hear and say, with a stack nobody here wrote at the other end: Bumble.
extension RadioTests {
  @Suite("Advertising with other stacks", .enabled(if: Radio.isLab && Radio.python != nil, Radio.peersNeeded))
  struct AdvertisingInteroperability {
    static let service: BluetoothUUID = "ad000001-ad00-ad00-ad00-ad00ad000001"

    /// One peer for everything: it takes Python seconds to start in the lab.
    @Test("Advertisements to and from a Bumble device", .timeLimit(.minutes(5)))
    func aBumbleDevice() async throws {
      let peer = try LabPeer("advertising_peer.py", ["--timeout", "290"])
      defer { peer.terminate() }
      let adapter = try await peer.adapter()
      _ = try await peer.next("advertising")

      try await whatItSaysIsTyped(adapter)
      try await eachScanSeesWhatItAskedFor(adapter)
      try await aLinkThatEndsEarlyHidesNobody(adapter, peer)
      try await whatWeSayIsHeardByteForByte(adapter, peer)
      try await aMonitorFindsWithoutAScan(adapter)
    }

    private func whatItSaysIsTyped(_ adapter: Adapter) async throws {
      let heard = try await bounded(.seconds(30), "the beacon") { () -> AdvertisementData in
        for await sighting in try await adapter.discover(.init(services: ["180f"])) {
          if let data = sighting.advertisement, data.name != nil, !data.other.isEmpty { return data }
        }
        throw TestTimeout(phase: "the scan ended")
      }
      var expected = AdvertisementData(
        name: "beacon", services: ["180f"], serviceData: ["180f": [0x63]], manufacturerData: [0xffff: [1, 2, 3]],
        txPower: 4, rssi: -50)
      expected.flags = [.generalDiscoverable, .classicNotSupported]
      expected.appearance = 0x0180
      expected.other = [0x24: [0x17] + Array("//edgeblue".utf8)]
      #expect(heard == expected)
      #expect(heard.pathLoss == 54)
    }

    /// Three scans at once, of which one wants everything.
    private func eachScanSeesWhatItAskedFor(_ adapter: Adapter) async throws {
      let near = try await adapter.discover(.init(minimumRSSI: -60))
      let named = try await adapter.discover(.init(pattern: "bea", duplicates: true))
      let fickle = try await adapter.discover(.init(services: [Self.service]))
      try await bounded(.seconds(30), "all scans") {
        async let first = rssi(of: near, 1)
        async let second = rssi(of: named, 3)
        async let third = rssi(of: fickle, 1)
        #expect(await first == [-50])
        #expect(await second == [-50, -50, -50])
        #expect(await third == [-80])
      }
    }

    /// The strengths of the next sightings; each device has its own.
    private func rssi(of sightings: BoundedStream<Adapter.ScanResult>, _ count: Int) async -> [Int?] {
      var all: [Int?] = []
      for await sighting in sightings where !sighting.isLost {
        all.append(sighting.rssi)
        if all.count == count { break }
      }
      return all
    }

    /// bluetoothd forgets which services it heard when the link ends while it reads them.
    private func aLinkThatEndsEarlyHidesNobody(_ adapter: Adapter, _ peer: LabPeer) async throws {
      for _ in 0..<2 {
        let device = try await adapter.discover(.init(services: [Self.service])).firstDevice(
          "the fickle device", within: .seconds(30))
        await #expect(throws: BlueZError.self) { try await device.connect(.direct(timeout: .seconds(10), attempts: 1)) }
        _ = try await peer.next("hung-up")
      }
    }

    /// Passively, and again after a power cycle and after bluetoothd's end: the peer's adapter outlives it.
    private func aMonitorFindsWithoutAScan(_ adapter: Adapter) async throws {
      let maker = AdvertisementPattern.manufacturerData(0xffff, beginsWith: [1])
      let named = AdvertisementPattern.name(beginsWith: "nobody") + [maker]
      let patterns = try await Radio.has(.monitorsServicesAndNames) ? named : [maker]
      if patterns != named {
        let deaf = await #expect(throws: BlueZError.self) { try await adapter.monitor(.init(patterns: named)) }
        #expect(deaf?.code == .notSupported, "BlueZ from 5.69")
      }
      let monitor = try await adapter.monitor(.init(patterns: patterns))
      // bluetoothd makes a device of what it hears only for a scan or for a monitor.
      try await find(monitor, adapter)
      #expect(!adapter.isDiscovering)
      try await adapter.setPowered(false)
      try await adapter.setPowered(true)
      try await find(monitor, adapter)
      try await Radio.fault("bluetoothd", "restart")
      try await find(monitor, adapter)
      try await monitor.stop()

      // The beacon is heard at −50 dBm.
      let deaf = try await adapter.monitor(.init(patterns: patterns, thresholds: .init(high: -30, low: -40)))
      let near = try await adapter.monitor(.init(patterns: patterns, thresholds: .init(high: -60, low: -70)))
      try await find(near, adapter)
      #expect(deaf.events.received == 0)
      try await near.stop()
      try await deaf.stop()
    }

    private func find(_ monitor: AdvertisementMonitor, _ adapter: Adapter) async throws {
      for device in adapter.devices { try await device.remove() }
      try await bounded(.seconds(30), "a device found by the monitor") {
        for await event in monitor.events {
          guard case .found(let device) = event, device.property("ManufacturerData") != nil else { continue }
          #expect(device.advertisement.manufacturerData == [0xffff: [1, 2, 3]])
          return
        }
        throw TestTimeout(phase: "the monitor ended")
      }
    }

    private func whatWeSayIsHeardByteForByte(_ adapter: Adapter, _ peer: LabPeer) async throws {
      var content = Advertisement.Content(
        name: "Swift", services: ["180f"], manufacturerData: [0xffff: [7, 8, 9]], serviceData: ["180f": [42]],
        includes: [.txPower])
      content.solicitedServices = ["1812"]
      content.other = [0x24: [0x17, 0x2f]]
      content.appearance = 0x0180
      let hundred = Duration.milliseconds(100)
      let first = try await adapter.advertise(content, .init(interval: hundred...hundred))
      // It fills the 31 bytes, so there is no room for the power.
      #expect(first.fallbacks == [.txPowerElement])
      let heard = try await Heard(peer)
      #expect(
        heard.data == [
          0x01: [0x06], 0x03: [0x0f, 0x18], 0x14: [0x12, 0x18], 0x16: [0x0f, 0x18, 42], 0xff: [0xff, 0xff, 7, 8, 9],
          0x19: [0x80, 0x01], 0x24: [0x17, 0x2f],
        ])
      #expect(heard.response == [0x09: Array("Swift".utf8)])
      #expect(heard.size == 31)
      #expect(heard.interval == 160)

      // Two take turns. What is not connectable is not discoverable.
      let beacon = Advertisement.Content(manufacturerData: [0xffff: [1]], includes: [.txPower], isConnectable: false)
      let second = try await adapter.advertise(beacon, .init(timeout: .seconds(3)))
      #expect(adapter.advertisingCapabilities?.activeInstances == 2)
      let other = try await Heard(peer)
      #expect(other.data[0xff] == [0xff, 0xff, 1])
      #expect(other.data[0x01] == [0x04])
      #expect(Set(other.data.keys) == [0x01, 0x0a, 0xff])
      #expect(other.size == beacon.budget.advertisingData)
      try await bounded(.seconds(10), "the end of the second one") {
        for await active in adapter.values(of: \.advertisingCapabilities?.activeInstances) where active == 1 { return }
      }
      #expect(!second.isRunning)
      #expect(first.isRunning)
      try await first.stop()
    }

    /// What the peer heard of us, element by element.
    private struct Heard {
      let data: [UInt8: [UInt8]]
      let response: [UInt8: [UInt8]]
      let size: Int
      /// In units of 0.625 ms.
      let interval: Int?

      init(_ peer: LabPeer) async throws {
        let event = try await peer.next("heard")
        let bytes = try Self.bytes(try #require(event["data"] as? String))
        size = bytes.count
        data = Self.elements(bytes)
        response = Self.elements(try Self.bytes(try #require(event["response"] as? String)))
        interval = event["interval"] as? Int
      }

      private static func bytes(_ hex: String) throws -> [UInt8] {
        let digits = Array(hex)
        return try stride(from: 0, to: digits.count, by: 2).map {
          try #require(UInt8(String(digits[$0...($0 + 1)]), radix: 16))
        }
      }

      private static func elements(_ bytes: [UInt8]) -> [UInt8: [UInt8]] {
        var elements: [UInt8: [UInt8]] = [:]
        var rest = bytes[...]
        while let length = rest.first, length > 0, rest.count > Int(length) {
          elements[rest[rest.startIndex + 1]] = Array(rest.dropFirst(2).prefix(Int(length) - 1))
          rest = rest.dropFirst(Int(length) + 1)
        }
        return elements
      }
    }
  }
}
