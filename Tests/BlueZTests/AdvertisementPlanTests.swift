import Testing

@testable import BlueZ

@Suite("The plan of an advertisement") struct AdvertisementPlanTests {
  typealias Content = Advertisement.Content
  typealias Parameters = Advertisement.Parameters

  private static let adapter = AdvertisingCapabilities([
    "SupportedIncludes": .strings(["tx-power", "appearance", "local-name"]),
    "SupportedCapabilities": .properties(["MaxAdvLen": .byte(31), "MaxScnRspLen": .byte(31)]),
  ])
  private static let extended = AdvertisingCapabilities([
    "SupportedIncludes": .strings(["tx-power"]), "SupportedSecondaryChannels": .strings(["1M", "2M"]),
    "SupportedCapabilities": .properties(["MaxAdvLen": .byte(251), "MaxScnRspLen": .byte(251)]),
  ])

  private func plan(
    _ content: Content, _ parameters: Parameters = Parameters(), on adapter: AdvertisingCapabilities = Self.adapter,
    version: BlueZRelease? = BlueZRelease(5, 66), isExperimental: Bool = false
  ) throws -> AdvertisementPlan {
    try AdvertisementPlan(content, parameters, on: adapter, version, isExperimental: isExperimental)
  }

  /// 216 payloads from empty to far too long, against a count of the very bytes.
  @Test("The budget agrees with the encoded bytes, and decides what fits") func whatFitsIsWhatHasRoomByteForByte()
    throws
  {
    let services: [[BluetoothUUID]] = [
      [], ["180f"], ["180f", "180a"], ["ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d"],
      ["180f", "12345678", "ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d"], ["12345678", "23456789", "180f"],
    ]
    var outcomes: [String: Int] = [:]
    for services in services {
      for length in [nil, 0, 3, 7, 20, 27] {
        for name in [nil, "n", String(repeating: "ä", count: 15)] {
          for includes: Set<Advertisement.Include> in [[], [.txPower]] {
            let content = Content(
              name: name, services: services,
              manufacturerData: length.map { [0xffff: [UInt8](repeating: 1, count: $0)] } ?? [:], includes: includes)
            outcomes[try outcome(of: content), default: 0] += 1
          }
        }
      }
    }
    #expect(outcomes.values.reduce(0, +) == 216)
    // Every outcome occurs, so that no expectation above passes because its branch was never taken.
    #expect(outcomes.count == 3, "\(outcomes)")
    #expect(outcomes.values.allSatisfy { $0 >= 4 }, "\(outcomes)")
  }

  private func outcome(of content: Content) throws -> String {
    let data = Self.elements(of: content)
    let response = content.name.map { 2 + $0.utf8.count } ?? 0
    #expect(content.budget.advertisingData == data.count, "\(content)")
    #expect(content.budget.scanResponse == response)
    let power = content.includes.contains(.txPower) ? 3 : 0
    guard data.count - power <= 31, response <= 31 else {
      let error = #expect(throws: BlueZError.self) { try self.plan(content) }
      #expect(error?.code == .advertisementTooLong)
      return "refused"
    }
    let plan = try plan(content)
    let fits = data.count <= 31
    #expect(plan.fallbacks == (fits ? [] : [.txPowerElement]))
    #expect(plan.content.includes.isEmpty == (!fits || power == 0))
    return fits ? "whole" : "without power"
  }

  /// The advertising data as it goes over the air (Core Specification Supplement, part A).
  private static func elements(of content: Content) -> [UInt8] {
    var all: [UInt8] = [2, 0x01, 0x06]
    func add(_ type: UInt8, _ bytes: [UInt8]) { all += [UInt8(bytes.count + 1), type] + bytes }
    for (size, type) in [(2, UInt8(0x03)), (4, 0x05), (16, 0x07)] {
      let listed = content.services.filter { $0.advertisedSize == size }.flatMap(\.littleEndian)
      if !listed.isEmpty { add(type, listed) }
    }
    for (company, bytes) in content.manufacturerData {
      add(0xff, [UInt8(company & 0xff), UInt8(company >> 8)] + bytes)
    }
    if content.includes.contains(.txPower) { add(0x0a, [4]) }
    return all
  }

  @Test("Parameters that an old bluetoothd ignores are left out or refused")
  func whatOldBluetoothdIgnoresIsGivenUpOrRefused() throws {
    let wished = Parameters(interval: .milliseconds(100)...(.milliseconds(200)), txPower: 4)
    #expect(try plan(Content(), wished).fallbacks == [.txPower, .interval])
    #expect(try plan(Content(), wished, isExperimental: true).fallbacks.isEmpty)
    #expect(try plan(Content(), wished, version: BlueZRelease(5, 77)).fallbacks.isEmpty)
    #expect(try plan(Content(), wished, version: nil).parameters.interval == nil)
    var strict = wished
    strict.allowedFallbacks = [.txPower]
    #expect(throws: BlueZError.self) { try plan(Content(), strict) }

    let response = Content().with { $0.scanResponse = .init(manufacturerData: [1: [2]]) }
    #expect(throws: BlueZError.self) { try plan(response, version: BlueZRelease(5, 80)) }
    #expect(throws: BlueZError.self) { try plan(response, version: BlueZRelease(5, 79), isExperimental: true) }
    #expect(try plan(response, version: BlueZRelease(5, 80), isExperimental: true).content == response)
  }

  @Test("Fallbacks are applied in their order") func theLadderIsGoneDownInItsOrder() throws {
    let wished = Parameters(
      interval: .milliseconds(100)...(.milliseconds(200)), txPower: 4, allowedFallbacks: [.txPowerElement, .interval])
    var plan: AdvertisementPlan? = try plan(Content(includes: [.txPower]), wished, version: BlueZRelease(5, 77))
    var steps: [[Advertisement.Fallback]] = []
    while let now = plan {
      steps.append(now.fallbacks)
      plan = now.next()
    }
    #expect(steps == [[], [.txPowerElement], [.txPowerElement, .interval]])
  }

  @Test("Extended advertising has limits of its own") func extendedAdvertisingHasItsOwnRoom() throws {
    let name = String(repeating: "n", count: 100)
    let content = Content(name: name, manufacturerData: [0xffff: [UInt8](repeating: 1, count: 142)])
    let wished = Parameters(secondaryChannel: .twoM)
    let plan = try plan(content, wished, on: Self.extended)
    #expect(plan.budget(Self.extended).advertisingData == 3 + 102 + 146)
    #expect(plan.budget(Self.extended).scanResponse == 0)
    var longer = content
    longer.name = name + "n"
    #expect(throws: BlueZError.self) { try self.plan(longer, wished, on: Self.extended) }
    #expect(throws: BlueZError.self) { try self.plan(content, on: Self.extended) }
    #expect(throws: BlueZError.self) { try self.plan(Content(), wished) }
    #expect(throws: BlueZError.self) { try self.plan(Content(), .init(secondaryChannel: .coded), on: Self.extended) }
  }

  static let refused: [(Content, Parameters)] = [
    (Content().with { $0.other = [0x09: [65]] }, Parameters()),
    (Content(isConnectable: false).with { $0.isDiscoverable = true }, Parameters()),
    (Content(name: "n", includes: [.localName]), Parameters()),
    (Content(includes: [.appearance]).with { $0.appearance = 1 }, Parameters()),
    (Content(), Parameters(interval: .milliseconds(19)...(.milliseconds(100)))),
    (Content(), Parameters(interval: .milliseconds(20)...(.milliseconds(10_241)))),
    (Content(), Parameters(txPower: 21)),
    (Content(), Parameters(turn: .zero)),
    (Content(), Parameters(timeout: .seconds(65_536))),
    (
      Content(),
      {
        var parameters = Parameters(timeout: .seconds(5))
        parameters.discoverableTimeout = .seconds(6)
        return parameters
      }()
    ),
  ]

  @Test("Invalid contents and parameters are refused with a reason", arguments: refused)
  func whatCannotBeIsRefusedByName(_ content: Content, _ parameters: Parameters) {
    let error = #expect(throws: BlueZError.self) { try plan(content, parameters) }
    #expect(error?.code == .invalidArgument)
  }

  @Test("Every kind of element counts towards the budget") func everyKindOfElementTakesRoom() {
    #expect(Content(isConnectable: false).budget.advertisingData == 3)
    let content = Content(includes: [.localName]).with {
      $0.solicitedServices = ["180f"]
      $0.other = [0x24: [1, 2]]
      $0.appearance = 0x0180
    }
    #expect(content.budget.advertisingData == 3 + 4 + 4 + 4)
    #expect(content.budget.scanResponse == 12)
  }
}

extension Advertisement.Content {
  fileprivate func with(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }
}
