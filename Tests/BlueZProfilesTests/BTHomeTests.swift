import Testing

@testable import BlueZProfiles

@Suite("BTHome") struct BTHomeTests {
  @Test("An advertisement is written as it was read", arguments: Samples.homes)
  func roundTrip(_ bytes: [UInt8]) throws {
    let advertisement = try BTHomeAdvertisement(bytes: bytes)
    #expect(advertisement.bytes == bytes)
  }

  @Test("Measurements are in their units") func measurements() throws {
    let content = try BTHomeAdvertisement(bytes: Samples.homes[0]).content
    let expected = [try BTHomeReading(25.06, of: .temperature), try BTHomeReading(50.55, of: .humidity)]
    #expect(content == .readings(expected, unknown: []))
    #expect(expected.map(\.value) == [25.06, 50.55])
  }

  @Test("States and events have their meaning") func events() throws {
    let advertisement = try BTHomeAdvertisement(bytes: Samples.homes[1])
    #expect(advertisement.isTriggered)
    #expect(
      advertisement.content
        == .readings([.packet(9), .state(.lowBattery, true), .button(.longPress), .dimmer(-3)], unknown: []))
  }

  @Test("Reading ends at the first object that is not known, and keeps the rest") func unknownObject() throws {
    #expect(
      try BTHomeAdvertisement(bytes: Samples.homes[4]).content
        == .readings([try BTHomeReading(93, of: .battery)], unknown: [0xef, 1, 2]))
  }

  @Test("Encrypted readings have a counter and a tag") func encrypted() throws {
    let expected = try BTHomeAdvertisement.Encrypted(
      ciphertext: Array(1...8), counter: 0x0c0b_0a09, tag: [13, 14, 15, 16])
    #expect(try BTHomeAdvertisement(bytes: Samples.homes[3]).content == .encrypted(expected))
    #expect(throws: ProfileError.self) { try BTHomeAdvertisement.Encrypted(ciphertext: [], counter: 0, tag: [1]) }
  }

  @Test("Readings are sent in the order of their object IDs, and equal ones in their own") func order() throws {
    let first = try BTHomeReading(1, of: .temperature)
    let second = try BTHomeReading(2, of: .temperature)
    let sent = try BTHomeAdvertisement([.state(.motion, false), first, .packet(1), second])
    #expect(sent.content == .readings([.packet(1), first, second, .state(.motion, false)], unknown: []))
  }

  @Test(
    "What is malformed is refused",
    arguments: [
      ([], .tooShort), ([0x20], .notSupported), ([0x42], .notSupported), ([0x41] + Array(1...7), .tooShort),
      ([0x40, 0x02, 1], .tooShort), ([0x40, 0x0f, 2], .invalidField), ([0x40, 0x3a, 7], .invalidField),
      ([0x40, 0x3c, 3, 1], .invalidField), ([0x40, 0x53, 2, 0x41], .tooShort), ([0x40, 0x53, 1, 0xff], .invalidField),
      ([0x40, 0x54], .tooShort),
    ] as [([UInt8], ProfileError.Code)])
  func refused(_ bytes: [UInt8], _ code: ProfileError.Code) {
    let error = #expect(throws: ProfileError.self) { try BTHomeAdvertisement(bytes: bytes) }
    #expect(error?.code == code)
  }

  @Test("What no object can hold is refused before it is sent") func unsendable() {
    let readings: [BTHomeReading] = [
      .dimmer(256), .text(String(repeating: "x", count: 256)), .number(.battery, steps: 256),
      .raw([UInt8](repeating: 0, count: 256)),
    ]
    for reading in readings {
      let error = #expect(throws: ProfileError.self) { try BTHomeAdvertisement([reading]) }
      #expect(error?.code == .invalidArgument)
    }
    for value in [-327.69, 327.68, .nan] {
      #expect(throws: ProfileError.self) { try BTHomeReading(value, of: .temperature) }
    }
  }

  @Test("No object ID stands for two things") func identifiers() {
    let ids = BTHomeNumber.all.map(\.id) + BTHomeState.allCases.map(\.rawValue) + [0x00, 0x3a, 0x3c, 0x53, 0x54]
    #expect(Set(ids).count == ids.count)
    #expect(ids.count == 93)
  }
}
