import Testing

@testable import BlueZProfiles

@Suite("Values of characteristics") struct CharacteristicValueTests {
  @Test("Each type has a sample, an assigned number of its own and a name") func registry() {
    let numbers = CharacteristicValues.all.map { $0.assignedNumber }
    #expect(Set(numbers) == Set(Samples.values.keys))
    #expect(Set(numbers).count == numbers.count)
    #expect(Set(CharacteristicValues.all.map { $0.name }).count == numbers.count)
  }

  @Test("A value is written as it was read", arguments: Samples.values.keys.sorted())
  func roundTrip(_ number: UInt16) throws {
    let sample = try #require(Samples.values[number])
    let value = try #require(try CharacteristicValues.read(sample, of: number))
    #expect(value.bytes == sample)
  }

  @Test("A value that is cut off, or has one byte too many, is refused", arguments: Samples.values.keys.sorted())
  func length(_ number: UInt16) throws {
    let sample = try #require(Samples.values[number])
    let type = try #require(CharacteristicValues.type(of: number))
    // A text has any length, and the intervals of a heart rate are as many as fit.
    guard !(type is any AnyText.Type) else { return }
    for count in 0..<sample.count where !(number == 0x2a37 && [5, 7].contains(count)) {
      #expect(throws: ProfileError.self, "\(count) bytes") { try type.init(bytes: Array(sample.prefix(count))) }
    }
    #expect(throws: ProfileError.self) { try type.init(bytes: sample + [0]) }
  }

  @Test("A characteristic without a type has no value") func unknown() throws {
    #expect(try CharacteristicValues.read([1], of: 0xffff) == nil)
  }

  @Test(
    "A reserved value, or one outside its range, is refused as an invalid field",
    arguments: [
      (0x2a19, [101]), (0x2a38, [7]), (0x2a39, [0]), (0x2a06, [3]), (0x2a1d, [0]), (0x2a5d, [17]), (0x2aa3, [10]),
      (0x2a08, [0x2d, 0x06, 1, 1, 0, 0, 0]), (0x2a08, [0xea, 7, 13, 1, 0, 0, 0]), (0x2a08, [0xea, 7, 1, 1, 24, 0, 0]),
      (0x2a2b, [0xea, 7, 1, 1, 0, 0, 0, 8, 0, 0]), (0x2a0f, [57, 0]), (0x2a0f, [0, 3]), (0x2a14, [8, 0, 0, 0]),
      (0x2a14, [0, 0, 0, 24]), (0x2a50, [3, 0, 0, 0, 0, 0, 0]), (0x2a29, [0xff]), (0x2a07, [0x9b]),
      (0x2a6e, [0x01, 0x80]), (0x2a6f, [0x11, 0x27]), (0x2a71, [0xa0, 0x8c]), (0x2b18, [0x81, 0xff]),
      (0x2a04, [5, 0, 40, 0, 0, 0, 0xf4, 1]), (0x2a04, [41, 0, 40, 0, 0, 0, 0xf4, 1]),
      (0x2a04, [24, 0, 40, 0, 0xf4, 1, 0xf4, 1]), (0x2a04, [24, 0, 40, 0, 0, 0, 9, 0]),
    ] as [(UInt16, [UInt8])])
  func reserved(_ number: UInt16, _ bytes: [UInt8]) {
    let error = #expect(throws: ProfileError.self) { try CharacteristicValues.read(bytes, of: number) }
    #expect(error?.code == .invalidField)
  }
}

/// Tells a text from the other values.
protocol AnyText {}
extension TextValue: AnyText {}
