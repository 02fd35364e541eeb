import BlueZTesting
import Testing

@testable import BlueZ

@Suite("Advertisement monitors") struct AdvertisementMonitorTests {
  typealias Content = AdvertisementMonitor.Content
  typealias Pattern = AdvertisementPattern

  /// Every possible start and length, and those just outside: no accepted pattern extends past byte 31.
  @Test("Only patterns that lie within an advertisement are accepted") func onlyPatternsWithinAnAdvertisementPass() {
    for start in -1...33 {
      for length in 0...33 {
        let fits = start >= 0 && length >= 1 && start + length <= 31
        let pattern = Pattern(start: start, type: 0xff, bytes: [UInt8](repeating: 0, count: length))
        #expect(passes(Content(patterns: [pattern])) == fits, "\(length) bytes from \(start)")
      }
    }
    #expect(!passes(Content(patterns: [])))
    #expect(!passes(Content(patterns: [Pattern(start: .max, type: 0, bytes: [1])])))
  }

  @Test("Thresholds outside bluetoothd's ranges are refused") func thresholdsAreWithinBluetoothdsRanges() {
    func passes(_ high: Int, _ low: Int, _ time: Duration = .seconds(1), _ other: Duration = .seconds(300)) -> Bool {
      let thresholds = AdvertisementMonitor.Thresholds(high: high, highTimeout: time, low: low, lowTimeout: other)
      return self.passes(Content(patterns: [Pattern(type: 1, bytes: [6])], thresholds: thresholds))
    }
    #expect(passes(20, -127))
    #expect(!passes(21, -127))
    #expect(!passes(20, -128))
    #expect(!passes(-60, -60))
    #expect(!passes(-60, -70, .milliseconds(999)))
    #expect(!passes(-60, -70, .seconds(1), .milliseconds(300_001)))
  }

  @Test("The sampling period is counted in tenths of a second") func samplingIsCountedInTenths() {
    #expect(AdvertisementMonitor.Sampling.all.period == 0)
    #expect(AdvertisementMonitor.Sampling.once.period == 255)
    #expect(AdvertisementMonitor.Sampling.every(.milliseconds(25_400)).period == 254)
    #expect(AdvertisementMonitor.Sampling.every(.milliseconds(25_500)).period == nil)
    #expect(AdvertisementMonitor.Sampling.every(.zero).period == nil)
    #expect(!passes(Content(patterns: [Pattern(type: 1, bytes: [6])], sampling: .every(.seconds(60)))))
  }

  @Test("Patterns have the byte order of the air") func patternsAreInTheOrderOfTheAir() {
    #expect(Pattern.manufacturerData(0x004c, beginsWith: [2]) == Pattern(type: 0xff, bytes: [0x4c, 0x00, 2]))
    #expect(Pattern.serviceData("180f", beginsWith: [99]) == Pattern(type: 0x16, bytes: [0x0f, 0x18, 99]))
    #expect(Pattern.serviceData("12345678") == Pattern(type: 0x20, bytes: [0x78, 0x56, 0x34, 0x12]))
    let long = Pattern.firstService("ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d")
    #expect(long.map(\.type) == [0x06, 0x07])
    #expect(
      long[0].bytes == [0x0d, 0xec, 0x01, 0, 0x0d, 0xec, 0x0d, 0xec, 0x0d, 0xec, 0x0d, 0xec, 0x01, 0, 0x0d, 0xec])
  }

  private func passes(_ content: Content) -> Bool {
    do {
      try content.check()
      return true
    } catch {
      return false
    }
  }
}

extension ContractTests {
  @Test("A bluetoothd without monitors is distinguished from one that is starting")
  func noMonitors() async throws {
    let lab = try await FakeBlueZ.start()
    let adapter = try await lab.adapter(0)
    let clock = ContinuousClock.now
    let error = await #expect(throws: BlueZError.self) {
      try await adapter.monitor(.init(patterns: [.manufacturerData(0xffff)]))
    }
    #expect(error?.code == .notSupported)
    #expect(error?.hint?.contains("-E") == true)
    #expect(ContinuousClock.now - clock < .seconds(5))
    try await lab.stop()
  }

  @Test("Each scan of a session receives only devices that match its filter")
  func scansShareADiscovery() async throws {
    let lab = try await FakeBlueZ.start()
    let phone = try await lab.adapter(0)
    let central = try await lab.adapter(1)
    let advertisement = try await phone.advertise(
      .init(name: "Parlour", services: [Parlour.service], manufacturerData: [0xffff: [1]]))
    let others = try await central.discover(.init(services: ["180f"]))
    let named = try await central.discover(.init(pattern: "Parl"))
    var seen = named.makeAsyncIterator()
    let said = try #require(await seen.next()?.advertisement)
    #expect(said.name == "Parlour")
    #expect(said.services == [Parlour.service])
    #expect(said.manufacturerData == [0xffff: [1]])
    let second = try await phone.advertise(.init(services: ["180f"]))
    var other = others.makeAsyncIterator()
    #expect(await other.next()?.advertisement?.services.contains("180f") == true)
    try await lab.stop()
    withExtendedLifetime((advertisement, second)) {}
  }
}
