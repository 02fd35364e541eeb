import BlueZ
import BlueZTesting
import DBus
import Testing

extension ContractTests {
  @Test("Five thousand devices need no match rule each, and are distinguished")
  func crowd() async throws {
    // Far below the bus's own limit of 512, so that a rule for each device could not go unnoticed.
    let lab = try await FakeBlueZ.start(.init(busLimits: ["max_match_rules_per_connection": 16]))
    let central = try await lab.adapter(1)
    let sightings = try await central.discover(limit: 5_000)
    for number in 0..<5_000 {
      let digits = String(number, radix: 16)
      let padded = String(repeating: "0", count: 4 - digits.count) + digits
      let address = try #require(BluetoothAddress("C0:00:00:00:\(padded.prefix(2)):\(padded.suffix(2))"))
      await lab.adapters[1].receiveAdvertisement(of: address, name: "device \(number)", services: ["180d"])
    }
    var seen: Set<ObjectPath> = []
    for await sighting in sightings {
      seen.insert(sighting.device.path)
      if seen.count == 5_000 { break }
    }
    #expect(sightings.dropped == 0)
    #expect(central.devices.count == 5_000)
    let address = try #require(BluetoothAddress("C0:00:00:00:13:87"))
    #expect(central.device(address)?.name == "device 4999")
    // A session that is opened later gets them all at once.
    #expect(try await lab.adapter(1).devices.count == 5_000)
    try await lab.stop()
  }
}
