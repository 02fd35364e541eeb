import Testing

@testable import BlueZProfiles

@Suite("Fields of values") struct FieldTests {
  @Test("A heart rate has its contact, energy and intervals") func heartRate() throws {
    let full = try HeartRateMeasurement(bytes: [0x1f, 44, 1, 9, 0, 0, 4, 0, 2])
    #expect(
      full == HeartRateMeasurement(beatsPerMinute: 300, contact: .detected, energy: 9, rrIntervals: [1024, 512]))
    #expect(full.intervals == [.seconds(1), .milliseconds(500)])
    #expect(try HeartRateMeasurement(bytes: [0, 60]).contact == .notSupported)
    #expect(try HeartRateMeasurement(bytes: [4, 60]).contact == .notDetected)
    // A rate that fits into one byte may come in two; the reserved flags are ignored.
    #expect(try HeartRateMeasurement(bytes: [0xe1, 60, 0]) == HeartRateMeasurement(beatsPerMinute: 60))
  }

  @Test("A quantity is rounded to its steps, and refused outside its range") func quantities() throws {
    #expect(try Temperature(-3.254).bytes == [0xbb, 0xfe])
    #expect(try Temperature(bytes: [0xbb, 0xfe]).value == -3.25)
    #expect(try Temperature(-3.25).description == "-3.25 °C")
    #expect(Temperature.unknown?.value == nil)
    #expect(Temperature.unknown?.bytes == [0x00, 0x80])
    #expect(try Elevation(-0.01).bytes == [0xff, 0xff, 0xff])
    #expect(try Voltage(3.3).value == 3.296875)
    #expect(UVIndex.unknown == nil)
    for value in [-273.16, 327.68, .nan, .infinity, -.infinity, .greatestFiniteMagnitude] {
      let error = #expect(throws: ProfileError.self) { try Temperature(value) }
      #expect(error?.code == .invalidArgument)
    }
    // The number that stands for "not known" is no number.
    #expect(throws: ProfileError.self) { try Illuminance(167_772.15) }
  }

  @Test("A text is read without the zero bytes behind it") func texts() throws {
    #expect(try ManufacturerName(bytes: Array("ACME\0\0".utf8)).text == "ACME")
    #expect(try ManufacturerName(bytes: []).text == "")
    #expect(throws: ProfileError.self) { try SerialNumber(String(repeating: "x", count: 513)) }
    #expect(throws: ProfileError.self) { try SerialNumber("x\0") }
    #expect(throws: ProfileError.self) { try SerialNumber(bytes: [UInt8](repeating: 65, count: 513)) }
  }

  @Test("A medical number has a power of ten, and five numbers with a meaning of their own") func medicalNumbers()
    throws
  {
    #expect(try MedicalFloat<UInt32>(36.6, decimals: 1).value == 36.6)
    #expect(try MedicalFloat<UInt16>(-2.5, decimals: 1).value == -2.5)
    #expect(MedicalFloat<UInt16>(bits: 0x1005).value == 50)
    #expect(MedicalFloat<UInt16>(bits: 0x07fe).value == .infinity)
    #expect(MedicalFloat<UInt16>(bits: 0x0802).value == -.infinity)
    #expect(MedicalFloat<UInt32>(bits: 0x0080_0002).value == -.infinity)
    for bits: UInt32 in [0x007f_ffff, 0x0080_0000, 0x0080_0001] { #expect(MedicalFloat(bits: bits).value.isNaN) }
    #expect(throws: ProfileError.self) { try MedicalFloat<UInt16>(2046, decimals: 0) }
    #expect(throws: ProfileError.self) { try MedicalFloat<UInt16>(1, decimals: 9) }
    #expect(throws: ProfileError.self) { try MedicalFloat<UInt32>(.nan, decimals: 0) }
  }

  @Test("Revolutions are counted across the end of both counters") func revolutions() {
    let before = CyclingMeasurement.Revolutions<UInt16>(revolutions: 65_535, time: 65_024)
    let now = CyclingMeasurement.Revolutions<UInt16>(revolutions: 1, time: 512)
    #expect(now.perMinute(since: before) == 120)
    #expect(now.perMinute(since: now) == nil)
  }

  @Test("Connection parameters are durations, or no preference") func connectionParameters() throws {
    let none = try PreferredConnectionParameters(bytes: [0xff, 0xff, 0xff, 0xff, 0, 0, 0xff, 0xff])
    #expect(none.shortestInterval == nil)
    #expect(none.supervisionTimeout == nil)
    let made = try PreferredConnectionParameters(
      shortestInterval: .milliseconds(30), longestInterval: .milliseconds(50), latency: 0,
      supervisionTimeout: .seconds(5))
    #expect(made.bytes == [24, 0, 40, 0, 0, 0, 0xf4, 1])
    #expect(made.longestInterval == .milliseconds(50))
    for interval: Duration in [.milliseconds(7), .seconds(5), .seconds(-1), .seconds(1_000_000)] {
      #expect(throws: ProfileError.self) {
        try PreferredConnectionParameters(
          shortestInterval: interval, longestInterval: nil, latency: 0, supervisionTimeout: nil)
      }
    }
  }

  @Test("A system's identifier has a device of 40 bits and an organization of 24") func systemID() throws {
    let id = try SystemID(bytes: [0x9a, 0x78, 0x56, 0xff, 0xfe, 0xef, 0xcd, 0xab])
    #expect(id.device == 0xfe_ff56_789a)
    #expect(id.organization == 0xab_cdef)
    #expect(throws: ProfileError.self) { try SystemID(device: 1 << 40, organization: 0) }
  }
}
