/// A measurement of a blood-pressure monitor.
///
/// ```swift
/// let measured = BloodPressureMeasurement(
///   systolic: try MedicalFloat(120, decimals: 0), diastolic: try MedicalFloat(80, decimals: 0),
///   mean: try MedicalFloat(93, decimals: 0))
/// print(measured.bytes)  // [0, 120, 0, 80, 0, 93, 0]
/// ```
public struct BloodPressureMeasurement: CharacteristicValue {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a35
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Blood Pressure Measurement"

  /// The unit of the three pressures.
  public enum Unit: Sendable, Hashable, CaseIterable {
    /// Millimeters of mercury, the unit without a flag.
    case millimetersOfMercury
    /// Kilopascals, the unit with a flag.
    case kilopascals
  }

  /// The observations of the monitor during a measurement.
  public struct Status: OptionSet, Sendable, Hashable {
    /// The bits as they are sent; bits 3 and 4 have the range of the pulse.
    public let rawValue: UInt16

    /// Creates observations from the bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The body moved during the measurement.
    public static let bodyMoved = Status(rawValue: 0x01)
    /// The cuff was too loose.
    public static let cuffLoose = Status(rawValue: 0x02)
    /// The pulse was irregular during the measurement.
    public static let irregularPulse = Status(rawValue: 0x04)
    /// The position of the cuff was wrong.
    public static let wrongPosition = Status(rawValue: 0x20)
  }

  /// The unit of the three pressures.
  public var unit: Unit = .millimetersOfMercury
  /// The pressure while the heart contracts.
  public var systolic: MedicalFloat<UInt16>
  /// The pressure while the heart rests.
  public var diastolic: MedicalFloat<UInt16>
  /// The mean pressure in the arteries.
  public var mean: MedicalFloat<UInt16>
  /// The time of the measurement; `nil` when it was not sent.
  public var time: DateTime?
  /// The pulse in beats per minute; `nil` when it was not sent.
  public var pulse: MedicalFloat<UInt16>?
  /// The number of the person, 255 for an unknown one; `nil` when it was not sent.
  public var user: UInt8?
  /// The observations of the monitor; `nil` when they were not sent.
  public var status: Status?

  /// Creates a measurement; the remaining fields are properties.
  public init(systolic: MedicalFloat<UInt16>, diastolic: MedicalFloat<UInt16>, mean: MedicalFloat<UInt16>) {
    self.systolic = systolic
    self.diastolic = diastolic
    self.mean = mean
  }

  /// Creates a measurement from what was indicated.
  /// - Throws: ``ProfileError`` with the code `.tooShort` or `.invalidField`.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    let flags = try reader.integer(UInt8.self)
    unit = flags & 0x01 == 0 ? .millimetersOfMercury : .kilopascals
    systolic = MedicalFloat(bits: try reader.integer())
    diastolic = MedicalFloat(bits: try reader.integer())
    mean = MedicalFloat(bits: try reader.integer())
    time = flags & 0x02 == 0 ? nil : try DateTime(&reader)
    pulse = flags & 0x04 == 0 ? nil : MedicalFloat(bits: try reader.integer())
    user = flags & 0x08 == 0 ? nil : try reader.integer()
    status = flags & 0x10 == 0 ? nil : Status(rawValue: try reader.integer())
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] {
    let present: [(UInt8, Bool)] = [
      (0x01, unit == .kilopascals), (0x02, time != nil), (0x04, pulse != nil), (0x08, user != nil),
      (0x10, status != nil),
    ]
    let flags = present.reduce(0 as UInt8) { $1.1 ? $0 | $1.0 : $0 }
    let pressures = [systolic, diastolic, mean].flatMap(\.bits.littleEndianBytes)
    let person = (pulse?.bits.littleEndianBytes ?? []) + (user.map { [$0] } ?? [])
    return [flags] + pressures + (time?.bytes ?? []) + person + (status?.rawValue.littleEndianBytes ?? [])
  }
}
