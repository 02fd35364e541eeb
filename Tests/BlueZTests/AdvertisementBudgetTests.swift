import Testing

@testable import BlueZ

@Suite("The space in an advertisement") struct AdvertisementBudgetTests {
  private let edgeCoder: BluetoothUUID = "ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d"

  @Test("The advertisement of an EdgeCoder phone fits") func anEdgeCoderPhoneFits() throws {
    let budget = Advertisement.Content(name: "EdgeCoder-0123456789abcdef", services: [edgeCoder]).budget
    #expect(budget.advertisingData == 21)
    #expect(budget.scanResponse == 28)
    #expect(budget.fits)
    try budget.check()
  }

  @Test("The longest name has 29 bytes") func aNameOf29BytesIsTheLongest() throws {
    let longest = String(repeating: "n", count: 29)
    try Advertisement.Content(name: longest).budget.check()
    let error = #expect(throws: BlueZError.self) { try Advertisement.Content(name: longest + "n").budget.check() }
    #expect(error?.code == .advertisementTooLong)
    // Bytes count, not characters.
    #expect(!Advertisement.Content(name: String(repeating: "ä", count: 15)).budget.fits)
  }

  @Test("Two long services do not fit") func twoLongServicesDoNotFit() {
    let content = Advertisement.Content(services: [edgeCoder, "ec0d0002-ec0d-ec0d-ec0d-ec0d0002ec0d"])
    #expect(content.budget.advertisingData == 3 + 2 + 32)
    let error = #expect(throws: BlueZError.self) { try content.budget.check() }
    #expect(error?.hint != nil)
  }

  @Test("Data counts with the headers of its elements") func dataCountsWithItsHeaders() {
    let content = Advertisement.Content(
      services: ["180f", "180a"], manufacturerData: [0xffff: [1, 2, 3]], serviceData: ["180f": [99]])
    #expect(content.budget.advertisingData == 3 + (2 + 4) + (2 + 2 + 3) + (2 + 2 + 1))
    #expect(content.budget.scanResponse == 0)
  }
}
