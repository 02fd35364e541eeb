import BlueZProfiles
import Testing

/// A characteristic that the library lacks, as a program adds it: with public API alone.
private struct Age: CharacteristicValue {
  static let assignedNumber: UInt16 = 0x2a80
  static let name = "Age"
  var years: UInt8

  init(_ reader: inout ByteReader) throws(ProfileError) { years = try reader.integer() }
  var bytes: [UInt8] { [years] }
}

@Suite("Values of a program's own") struct OwnValueTests {
  @Test("A value is read field by field") func fields() throws {
    #expect(try Age(bytes: [42]).years == 42)
    #expect(try Age(bytes: [42]).bytes == [42])
  }

  @Test("Missing and leftover bytes are errors that name the value") func lengths() {
    let short = #expect(throws: ProfileError.self) { try Age(bytes: []) }
    #expect(short?.code == .tooShort)
    let long = #expect(throws: ProfileError.self) { try Age(bytes: [42, 0]) }
    #expect(long?.code == .tooLong)
    #expect(long?.message == "Age: 1 of 2 bytes are left over")
  }
}
