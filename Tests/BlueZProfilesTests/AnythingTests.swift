import DeterministicTesting
import Testing

@testable import BlueZProfiles

/// Random and randomly changed bytes: each is refused by a typed error, or read and written without a loss.
@Suite("Any bytes") struct AnythingTests {
  private static let rounds = 400

  @Test("Any bytes are refused, or are a value", arguments: Samples.values.keys.sorted())
  func values(_ number: UInt16) throws {
    let type = try #require(CharacteristicValues.type(of: number))
    var random = SeededGenerator(seed: UInt64(number))
    for _ in 0..<Self.rounds {
      let bytes = Self.changed(Samples.values[number] ?? [], using: &random)
      try Self.check(type, bytes)
    }
  }

  private static func check<Value: CharacteristicValue>(_: Value.Type, _ bytes: [UInt8]) throws {
    guard let value = Self.read({ () throws(ProfileError) in try Value(bytes: bytes) }) else { return }
    #expect(try Value(bytes: value.bytes) == value, "\(bytes)")
  }

  @Test("Any bytes are refused, or are a beacon", arguments: 1...8 as ClosedRange<UInt64>)
  func beacons(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<Self.rounds {
      let frame = Self.changed(Samples.frames.randomElement(using: &random) ?? [], using: &random)
      if let read = Self.read({ () throws(ProfileError) in try EddystoneFrame(bytes: frame) }) {
        #expect(try EddystoneFrame(bytes: read.bytes) == read, "\(frame)")
      }
      let home = Self.changed(Samples.homes.randomElement(using: &random) ?? [], using: &random)
      if let read = Self.read({ () throws(ProfileError) in try BTHomeAdvertisement(bytes: home) }) {
        #expect(try BTHomeAdvertisement(bytes: read.bytes) == read, "\(home)")
      }
      let beacon = Self.changed(Samples.beacon, using: &random)
      if let read = Self.read({ () throws(ProfileError) in try IBeacon(bytes: beacon) }) {
        #expect(read.bytes == beacon)
      }
    }
  }

  @Test("Any number in a quantity's range is sent as the nearest step") func quantities() throws {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<Self.rounds {
      let degrees = Double.random(in: -273.15...327.67, using: &random)
      #expect(abs(try #require(try Temperature(degrees).value) - degrees) <= 0.005_001)
      let number = try #require(BTHomeNumber.all.randomElement(using: &random))
      let value = number.value(Int.random(in: number.range, using: &random))
      #expect(try BTHomeReading(value, of: number).value == value)
    }
  }

  private static func read<Value>(_ body: () throws(ProfileError) -> Value) -> Value? {
    do {
      return try body()
    } catch {
      // A refusal says what was refused.
      #expect(!error.message.isEmpty)
      return nil
    }
  }

  private static func changed(_ bytes: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      let place = Int.random(in: 0...bytes.count, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: bytes.removeSubrange(place...)
      case 1: bytes.insert(.random(in: 0...255, using: &random), at: place)
      case _ where place < bytes.count: bytes[place] = .random(in: 0...255, using: &random)
      default: bytes = (0..<place).map { _ in .random(in: 0...255, using: &random) }
      }
    }
    return bytes
  }
}
