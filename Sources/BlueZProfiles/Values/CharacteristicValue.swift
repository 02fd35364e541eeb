/// A value of a GATT characteristic that the Bluetooth SIG defines, with its bytes.
///
/// ```swift
/// let measurement = try HeartRateMeasurement(bytes: [0x10, 72, 0x20, 0x03])
/// print(measurement.beatsPerMinute)  // 72
/// print(try HeartRateMeasurement(bytes: measurement.bytes) == measurement)  // true
/// ```
///
/// The bytes are those of the GATT Specification Supplement. A reader ignores flags that are reserved for the future,
/// as the specification demands, and refuses everything else that is malformed.
public protocol CharacteristicValue: Sendable, Hashable {
  /// The 16-bit UUID of the characteristic.
  static var assignedNumber: UInt16 { get }
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  static var name: String { get }
  /// Creates a value from what was read, written or notified.
  /// - Throws: ``ProfileError`` with the code `.tooShort`, `.tooLong` or `.invalidField`.
  init(bytes: [UInt8]) throws(ProfileError)
  /// The bytes of the value, to be sent.
  var bytes: [UInt8] { get }
}
