/// A measurement of a heart-rate sensor: the rate, and what else the sensor knows.
///
/// ```swift
/// let measurement = try HeartRateMeasurement(bytes: [0x16, 61, 0xc8, 0x03])
/// print(measurement.beatsPerMinute, measurement.contact)  // 61 detected
/// print(measurement.intervals)  // [0.9453125 seconds]
/// ```
public struct HeartRateMeasurement: CharacteristicValue {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a37
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Heart Rate Measurement"

  /// The contact between a sensor and the skin.
  public enum Contact: Sendable, Hashable, CaseIterable {
    /// The sensor does not detect contact.
    case notSupported
    /// The sensor has no or poor contact.
    case notDetected
    /// The sensor has contact with the skin.
    case detected
  }

  /// The heart rate in beats per minute.
  public var beatsPerMinute: UInt16
  /// The contact between the sensor and the skin.
  public var contact: Contact
  /// The energy since the last reset in kilojoules; it stays at 65535 until the next one.
  public var energy: UInt16?
  /// The times between heartbeats, the oldest first, in units of 1/1024 s.
  public var rrIntervals: [UInt16]

  /// The times between heartbeats, the oldest first.
  public var intervals: [Duration] { rrIntervals.map { .seconds(Double($0) / 1024) } }

  /// Creates a measurement; what the sensor does not know is left out.
  public init(
    beatsPerMinute: UInt16, contact: Contact = .notSupported, energy: UInt16? = nil, rrIntervals: [UInt16] = []
  ) {
    self.beatsPerMinute = beatsPerMinute
    self.contact = contact
    self.energy = energy
    self.rrIntervals = rrIntervals
  }

  /// Creates a measurement from what was notified.
  /// - Throws: ``ProfileError`` with the code `.tooShort`.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    let flags = Flags(rawValue: try reader.integer())
    beatsPerMinute = flags.contains(.wide) ? try reader.integer() : UInt16(try reader.integer(UInt8.self))
    contact = !flags.contains(.contactSupported) ? .notSupported : flags.contains(.contact) ? .detected : .notDetected
    energy = flags.contains(.energy) ? try reader.integer() : nil
    rrIntervals = []
    while flags.contains(.intervals), !reader.rest.isEmpty { rrIntervals.append(try reader.integer()) }
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] {
    var flags: Flags = contact == .notSupported ? [] : .contactSupported
    if contact == .detected { flags.insert(.contact) }
    if beatsPerMinute > UInt8.max { flags.insert(.wide) }
    if energy != nil { flags.insert(.energy) }
    if !rrIntervals.isEmpty { flags.insert(.intervals) }
    let rate = beatsPerMinute.integerBytes(flags.contains(.wide) ? 2 : 1)
    return [flags.rawValue] + rate + (energy?.littleEndianBytes ?? []) + rrIntervals.flatMap(\.littleEndianBytes)
  }

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let wide = Flags(rawValue: 0x01)
    static let contact = Flags(rawValue: 0x02)
    static let contactSupported = Flags(rawValue: 0x04)
    static let energy = Flags(rawValue: 0x08)
    static let intervals = Flags(rawValue: 0x10)
  }
}

/// The place on the body where a heart-rate sensor is worn.
public enum BodySensorLocation: UInt8, CharacteristicValue, CaseIterable {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a38
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Body Sensor Location"

  /// A place that has no number of its own.
  case other = 0
  /// The chest, as with a strap.
  case chest = 1
  /// The wrist, as with a watch.
  case wrist = 2
  /// The finger, as with a clip.
  case finger = 3
  /// The hand of the wearer.
  case hand = 4
  /// The lobe of an ear.
  case earLobe = 5
  /// The foot of the wearer.
  case foot = 6
}

/// The command of a central to a heart-rate sensor.
public enum HeartRateControlPoint: UInt8, CharacteristicValue, CaseIterable {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a39
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Heart Rate Control Point"

  /// Sets ``HeartRateMeasurement/energy`` to zero again.
  case resetEnergy = 1
}
