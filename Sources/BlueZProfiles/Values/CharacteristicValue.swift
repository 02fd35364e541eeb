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
///
/// A characteristic that this library lacks is a type with a few lines, which a ``ByteReader`` reads field by field:
///
/// ```swift
/// struct Age: CharacteristicValue {
///   static let assignedNumber: UInt16 = 0x2a80
///   static let name = "Age"
///   var years: UInt8
///
///   init(_ reader: inout ByteReader) throws(ProfileError) { years = try reader.integer() }
///   var bytes: [UInt8] { [years] }
/// }
/// ```
public protocol CharacteristicValue: Sendable, Hashable {
  /// The 16-bit UUID of the characteristic.
  static var assignedNumber: UInt16 { get }
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  static var name: String { get }
  /// Creates a value from its fields, the first of which is next.
  /// - Parameter reader: The reader of the fields. Bytes that the value leaves in it are an error of
  ///   ``CharacteristicValue/init(bytes:)``.
  /// - Throws: ``ProfileError`` with the code `.tooShort` or `.invalidField`.
  init(_ reader: inout ByteReader) throws(ProfileError)
  /// The bytes of the value, to be sent.
  var bytes: [UInt8] { get }
}

extension CharacteristicValue {
  /// Creates a value from what was read, written or notified.
  /// - Throws: ``ProfileError`` with the code `.tooShort`, `.tooLong` or `.invalidField`.
  public init(bytes: [UInt8]) throws(ProfileError) {
    var reader = ByteReader(bytes, Self.name)
    try self.init(&reader)
    try reader.end()
  }
}
