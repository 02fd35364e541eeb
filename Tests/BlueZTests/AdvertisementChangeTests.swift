import Testing

@testable import BlueZ

@Suite("Changes of an advertisement") struct AdvertisementChangeTests {
  private func plan(_ content: Advertisement.Content) throws -> AdvertisementPlan {
    try AdvertisementPlan(content, .init(), on: AdvertisingCapabilities([:]), nil, isExperimental: false)
  }

  private func signals(_ old: Advertisement.Content, _ new: Advertisement.Content) throws
    -> [AdvertisementChange.PropertiesChanged]
  {
    AdvertisementChange(from: try plan(old), to: try plan(new)).signals
  }

  @Test("What leaves makes room before what comes") func order() throws {
    let signals = try signals(
      .init(name: "Lamp", serviceData: ["180f": [1]]), .init(services: ["180d"], manufacturerData: [1: [2]]))
    #expect(signals.count == 2)
    #expect(signals.first == .init(invalidated: ["LocalName", "ServiceData"]))
    #expect(signals.last?.changed.keys.sorted() == ["ManufacturerData", "ServiceUUIDs"])
    #expect(signals.last?.invalidated == [])
  }

  @Test("What stays is not sent again") func sameContent() throws {
    #expect(try signals(.init(name: "Lamp"), .init(name: "Lamp")).isEmpty)
    #expect(
      try signals(.init(name: "Lamp", services: ["180d"]), .init(name: "Bulb", services: ["180d"]))
        == [.init(changed: ["LocalName": "Bulb"])])
  }
}
