/// A charge of a battery in percent, 0 to 100.
///
/// ```swift
/// let level = try BatteryLevel(bytes: [64])
/// print(level, level.percent < 20 ? "charge me" : "fine")  // 64 % fine
/// ```
public struct BatteryLevel: CharacteristicValue, CustomStringConvertible {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a19
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Battery Level"

  /// The charge in percent, 0 to 100.
  public let percent: Int

  /// Creates a level from a percentage.
  /// - Throws: ``ProfileError`` with the code `.invalidArgument` outside 0 to 100.
  public init(percent: Int) throws(ProfileError) {
    guard 0...100 ~= percent else {
      throw ProfileError(.invalidArgument, "Battery Level: \(percent) is not in the range 0 to 100 %")
    }
    self.percent = percent
  }

  /// Creates a level from what was read or notified.
  /// - Throws: ``ProfileError`` with the code `.tooShort`, or `.invalidField` above 100.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    percent = Int(try reader.integer("level", 0...100) as UInt8)
  }

  /// The byte of the value, to be sent.
  public var bytes: [UInt8] { [UInt8(percent)] }
  /// The level with its unit.
  public var description: String { "\(percent) %" }
}

/// The alert that a device is asked to give, as for a lost link.
public enum AlertLevel: UInt8, CharacteristicValue, CaseIterable {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a06
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Alert Level"

  /// The end of an alert, or none.
  case none = 0
  /// An alert that a person nearby may notice.
  case mild = 1
  /// An alert that calls for attention.
  case high = 2
}
