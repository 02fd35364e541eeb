import DBus
import Testing

@testable import BlueZ

@Suite("Discovery filters") struct DiscoveryFilterTests {
  typealias Filter = Adapter.DiscoveryFilter

  private func options(_ filters: [Filter], byService: Bool = true) -> [String: Value] {
    Filter.options(serving: filters, byService: byService)
  }

  @Test("Each condition of a filter reaches bluetoothd") func eachConditionIsToldToBluetoothd() {
    var filter = Filter(services: ["180f"], minimumRSSI: -70, pattern: "Lamp", duplicates: true)
    filter.discoverable = true
    #expect(
      options([filter]) == [
        "UUIDs": .strings(["0000180f-0000-1000-8000-00805f9b34fb"]), "RSSI": .int16(-70), "Pattern": "Lamp",
        "Transport": "le", "DuplicateData": true, "Discoverable": true,
      ])
    #expect(options([Filter(maximumPathLoss: 90)])["Pathloss"] == .uint16(90))
    // bluetoothd refuses the two together; the scan applies the other one itself.
    #expect(options([Filter(minimumRSSI: -70, maximumPathLoss: 90)])["Pathloss"] == nil)
    #expect(options([]) == ["Transport": "le", "DuplicateData": false])
  }

  @Test("The filter in bluetoothd serves all scans of a session") func whatIsToldServesAllScans() {
    let narrow = Filter(services: ["180f"], minimumRSSI: -50, pattern: "Lamp 1")
    let wide = Filter(services: ["180a"], minimumRSSI: -80, pattern: "Lamp 2", transport: .bredr)
    let both = options([narrow, wide])
    #expect(both["UUIDs"]?.strings?.count == 2)
    #expect(both["RSSI"] == .int16(-80))
    #expect(both["Pattern"] == "Lamp ")
    #expect(both["Transport"] == "auto")
    let loss = options([Filter(maximumPathLoss: 60), Filter(maximumPathLoss: 90)])
    #expect(loss["Pathloss"] == .uint16(90))

    let compared = options([narrow, wide], byService: false)
    #expect(compared["UUIDs"] == nil)
    #expect(compared["RSSI"] == .int16(-80))

    let withAll = options([narrow, wide, Filter()])
    #expect(withAll["UUIDs"] == nil)
    #expect(withAll["RSSI"] == nil)
    #expect(withAll["Pattern"] == "")
    #expect(
      options([narrow, Filter(maximumPathLoss: 90)]).keys.sorted() == [
        "DuplicateData", "Pattern", "Transport",
      ])
  }

  @Test("A scan receives only devices that match its filter") func aScanSeesOnlyWhatItAskedFor() {
    let address = BluetoothAddress("00:AA:01:00:00:42")
    let data = AdvertisementData(name: "Lamp 1", services: ["180f", "180a"], txPower: 4, rssi: -60)
    let matching = [
      Filter(), Filter(services: ["180a", "1812"]), Filter(minimumRSSI: -60), Filter(maximumPathLoss: 64),
      Filter(pattern: "Lamp"), Filter(pattern: "00:AA:01"), Filter(pattern: ""),
    ]
    for filter in matching { #expect(filter.matches(data, address: address), "\(filter)") }
    let others = [
      Filter(services: ["1812"]), Filter(minimumRSSI: -59), Filter(maximumPathLoss: 63), Filter(pattern: "lamp"),
      Filter(pattern: "AA:01"), Filter(services: ["180f"], minimumRSSI: -59),
    ]
    for filter in others { #expect(!filter.matches(data, address: address), "\(filter)") }
    // An unknown RSSI or path loss does not match.
    #expect(!Filter(minimumRSSI: -127).matches(AdvertisementData(), address: nil))
    #expect(!Filter(maximumPathLoss: 137).matches(AdvertisementData(rssi: -10), address: nil))
    #expect(Filter(services: ["1812"]).matches(data, address: address, mayHaveForgotten: true))
  }

  @Test(
    "Filters outside bluetoothd's ranges are refused with a reason",
    arguments: [
      Filter(minimumRSSI: -128), Filter(minimumRSSI: 21), Filter(maximumPathLoss: -1), Filter(maximumPathLoss: 138),
    ])
  func whatBluetoothdWouldRefuseIsRefusedByName(_ filter: Filter) {
    let error = #expect(throws: BlueZError.self) { try filter.check() }
    #expect(error?.code == .invalidArgument)
  }

  @Test("Only new content and a different RSSI count as a change") func onlyNewsIsDifferent() {
    let told = AdvertisementData(name: "Lamp", manufacturerData: [0xffff: [1]], rssi: -60)
    var same = told
    same.rssi = -67
    #expect(!ScanHistory.differs(told, same))
    same.rssi = -68
    #expect(ScanHistory.differs(told, same))
    same.rssi = nil
    #expect(ScanHistory.differs(told, same))
    var other = told
    other.manufacturerData = [0xffff: [2]]
    #expect(ScanHistory.differs(told, other))
  }
}
