/// A measurement of a sensor for running speed and cadence, such as a footpod.
///
/// ```swift
/// let pace = try RunningMeasurement(bytes: [0x04, 0x00, 0x03, 85])
/// print(pace.metersPerSecond, pace.stepsPerMinute, pace.isRunning)  // 3.0 85 true
/// ```
public struct RunningMeasurement: CharacteristicValue {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a53
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "RSC Measurement"

  /// The speed in units of 1/256 m/s.
  public var speed: UInt16
  /// The cadence in steps of one foot per minute.
  public var stepsPerMinute: UInt8
  /// The length of a stride in centimeters; `nil` when the sensor does not measure it.
  public var stride: UInt16?
  /// The distance since the last reset in decimeters; `nil` when the sensor does not measure it.
  public var distance: UInt32?
  /// A Boolean value that indicates whether the person runs, not walks.
  public var isRunning: Bool

  /// The speed in meters per second.
  public var metersPerSecond: Double { Double(speed) / 256 }

  /// Creates a measurement; what the sensor does not measure is left out.
  public init(
    speed: UInt16, stepsPerMinute: UInt8, stride: UInt16? = nil, distance: UInt32? = nil, isRunning: Bool = false
  ) {
    self.speed = speed
    self.stepsPerMinute = stepsPerMinute
    self.stride = stride
    self.distance = distance
    self.isRunning = isRunning
  }

  /// Creates a measurement from what was notified.
  /// - Throws: ``ProfileError`` with the code `.tooShort`.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    let flags = try reader.integer(UInt8.self)
    speed = try reader.integer()
    stepsPerMinute = try reader.integer()
    stride = flags & 1 == 0 ? nil : try reader.integer()
    distance = flags & 2 == 0 ? nil : try reader.integer()
    isRunning = flags & 4 != 0
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] {
    let flags: UInt8 = (stride == nil ? 0 : 1) | (distance == nil ? 0 : 2) | (isRunning ? 4 : 0)
    return [flags] + speed.littleEndianBytes + [stepsPerMinute] + (stride?.littleEndianBytes ?? [])
      + (distance?.littleEndianBytes ?? [])
  }
}

/// The abilities of a sensor for running speed and cadence.
public struct RunningFeatures: OptionSet, CharacteristicValue {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a54
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "RSC Feature"

  /// The bits as they are sent.
  public let rawValue: UInt16

  /// Creates abilities from the bits.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The sensor measures the length of a stride.
  public static let stride = RunningFeatures(rawValue: 0x01)
  /// The sensor measures the distance.
  public static let distance = RunningFeatures(rawValue: 0x02)
  /// The sensor tells running from walking.
  public static let runningOrWalking = RunningFeatures(rawValue: 0x04)
  /// The sensor can be calibrated.
  public static let calibration = RunningFeatures(rawValue: 0x08)
  /// The sensor can be worn at several places.
  public static let severalLocations = RunningFeatures(rawValue: 0x10)
}

/// The place where a sensor for cycling or running is worn or mounted.
public enum SensorLocation: UInt8, CharacteristicValue, CaseIterable {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a5d
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Sensor Location"

  /// A place that has no number of its own.
  case other = 0
  /// The places on the body and on the bicycle, by their names.
  case topOfShoe, inShoe, hip, frontWheel, leftCrank, rightCrank, leftPedal, rightPedal, frontHub, rearDropout
  /// The further places on the bicycle and the body, by their names.
  case chainstay, rearWheel, rearHub, chest, spider, chainRing
}
