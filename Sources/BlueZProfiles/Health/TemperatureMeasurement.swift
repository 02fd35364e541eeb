/// A measurement of a thermometer for people.
///
/// ```swift
/// let fever = TemperatureMeasurement(try MedicalFloat(38.4, decimals: 1), place: .ear)
/// print(fever.degrees.value, fever.unit)  // 38.4 celsius
/// ```
public struct TemperatureMeasurement: CharacteristicValue {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a1c
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Temperature Measurement"

  /// The unit of a body's temperature.
  public enum Unit: Sendable, Hashable, CaseIterable {
    /// Degrees Celsius, the unit without a flag.
    case celsius
    /// Degrees Fahrenheit, the unit with a flag.
    case fahrenheit
  }

  /// The temperature in degrees of its unit.
  public var degrees: MedicalFloat<UInt32>
  /// The unit of the temperature.
  public var unit: Unit
  /// The time of the measurement; `nil` when it was not sent.
  public var time: DateTime?
  /// The place of the measurement; `nil` when it was not sent.
  public var place: TemperatureType?

  /// Creates a measurement; what is not known is left out.
  public init(
    _ degrees: MedicalFloat<UInt32>, unit: Unit = .celsius, time: DateTime? = nil, place: TemperatureType? = nil
  ) {
    self.degrees = degrees
    self.unit = unit
    self.time = time
    self.place = place
  }

  /// Creates a measurement from what was indicated.
  /// - Throws: ``ProfileError`` with the code `.tooShort` or `.invalidField`.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    let flags = try reader.integer(UInt8.self)
    degrees = MedicalFloat(bits: try reader.integer())
    unit = flags & 1 == 0 ? .celsius : .fahrenheit
    time = flags & 2 == 0 ? nil : try DateTime(&reader)
    place = flags & 4 == 0 ? nil : try reader.assigned("place on the body")
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] {
    let flags: UInt8 = (unit == .fahrenheit ? 1 : 0) | (time == nil ? 0 : 2) | (place == nil ? 0 : 4)
    return [flags] + degrees.bits.littleEndianBytes + (time?.bytes ?? []) + (place?.bytes ?? [])
  }
}

/// The place on the body where a thermometer measures.
public enum TemperatureType: UInt8, CharacteristicValue, CaseIterable {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a1d
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Temperature Type"

  /// The armpit of the person.
  case armpit = 1
  /// The body, without a certain place.
  case body = 2
  /// The lobe of an ear.
  case ear = 3
  /// The finger of a hand.
  case finger = 4
  /// The gastrointestinal tract, as with a capsule.
  case gastrointestinalTract = 5
  /// The mouth of the person.
  case mouth = 6
  /// The rectum of the person.
  case rectum = 7
  /// The toe of a foot.
  case toe = 8
  /// The eardrum, inside the ear.
  case eardrum = 9
}
