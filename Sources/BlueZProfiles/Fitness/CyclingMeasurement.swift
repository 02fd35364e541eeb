/// A measurement of a sensor for cycling speed and cadence: counted revolutions, each with the time of the last one.
///
/// ```swift
/// let before = CyclingMeasurement(crank: .init(revolutions: 100, time: 65_000))
/// let now = CyclingMeasurement(crank: .init(revolutions: 103, time: 1_536))
/// print(now.crank?.perMinute(since: before.crank!) ?? 0)  // 88.9… revolutions per minute
/// ```
public struct CyclingMeasurement: CharacteristicValue {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a5b
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "CSC Measurement"

  /// A count of revolutions, with the time of the last one.
  public struct Revolutions<Count: FixedWidthInteger & UnsignedInteger & Sendable>: Sendable, Hashable {
    /// The number of revolutions since the sensor began; it starts again at 0 behind the largest one.
    public var revolutions: Count
    /// The time of the last revolution in units of 1/1024 s, which starts again every 64 s.
    public var time: UInt16

    /// Creates a count with the time of its last revolution.
    public init(revolutions: Count, time: UInt16) {
      self.revolutions = revolutions
      self.time = time
    }

    /// Returns the revolutions per minute since an earlier measurement, at most 64 s ago; `nil` when no time has passed
    /// between them.
    public func perMinute(since earlier: Self) -> Double? {
      let passed = time &- earlier.time
      return passed == 0 ? nil : Double(revolutions &- earlier.revolutions) * 60 * 1024 / Double(passed)
    }
  }

  /// The revolutions of the wheel; `nil` when the sensor does not count them.
  public var wheel: Revolutions<UInt32>?
  /// The revolutions of the crank; `nil` when the sensor does not count them.
  public var crank: Revolutions<UInt16>?

  /// Creates a measurement of the wheel, the crank, or both.
  public init(wheel: Revolutions<UInt32>? = nil, crank: Revolutions<UInt16>? = nil) {
    self.wheel = wheel
    self.crank = crank
  }

  /// Creates a measurement from what was notified.
  /// - Throws: ``ProfileError`` with the code `.tooShort`.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    let flags = try reader.integer(UInt8.self)
    if flags & 1 != 0 { wheel = Revolutions(revolutions: try reader.integer(), time: try reader.integer()) }
    if flags & 2 != 0 { crank = Revolutions(revolutions: try reader.integer(), time: try reader.integer()) }
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] {
    let flags: UInt8 = (wheel == nil ? 0 : 1) | (crank == nil ? 0 : 2)
    let ofWheel = wheel.map { $0.revolutions.littleEndianBytes + $0.time.littleEndianBytes } ?? []
    return [flags] + ofWheel + (crank.map { $0.revolutions.littleEndianBytes + $0.time.littleEndianBytes } ?? [])
  }
}

/// The abilities of a sensor for cycling speed and cadence.
public struct CyclingFeatures: OptionSet, CharacteristicValue {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a5c
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "CSC Feature"

  /// The bits as they are sent.
  public let rawValue: UInt16

  /// Creates abilities from the bits.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The sensor counts the revolutions of the wheel.
  public static let wheel = CyclingFeatures(rawValue: 0x01)
  /// The sensor counts the revolutions of the crank.
  public static let crank = CyclingFeatures(rawValue: 0x02)
  /// The sensor can be worn at several places.
  public static let severalLocations = CyclingFeatures(rawValue: 0x04)
}
