/// A physical quantity of one number in the unit and the steps of its characteristic, such as ``Temperature``.
///
/// ```swift
/// let outside = try Temperature(-3.25)
/// print(outside, outside.bytes)  // -3.25 °C [187, 254]
/// print(try Temperature(bytes: [0x00, 0x80]).value ?? "not known")
/// ```
public struct Quantity<Kind: QuantityKind>: CharacteristicValue, CustomStringConvertible {
  /// The number as it is sent, in steps of the format.
  public let raw: Int

  /// Creates a quantity from a number in the unit of its format, which is rounded to the nearest step.
  /// - Throws: ``ProfileError`` with the code `.invalidArgument` when the number is outside the range of the format.
  public init(_ value: Double) throws(ProfileError) {
    let format = Kind.format
    let steps = (value * Double(format.divisor)).rounded()
    guard steps >= Double(format.range.lowerBound), steps <= Double(format.range.upperBound) else {
      let range = "\(format.value(format.range.lowerBound)) to \(format.value(format.range.upperBound)) \(format.unit)"
      throw ProfileError(.invalidArgument, "\(Kind.name): \(value) is not in the range \(range)")
    }
    raw = Int(steps)
  }

  private init(raw: Int) { self.raw = raw }

  /// The quantity that says that there is no value; `nil` when the characteristic has none.
  public static var unknown: Self? { Kind.format.unknown.map(Self.init(raw:)) }

  /// The number in the unit of the format; `nil` when the device does not know it.
  public var value: Double? { raw == Kind.format.unknown ? nil : Kind.format.value(raw) }

  /// The number with its unit.
  public var description: String {
    guard let value else { return "not known" }
    let number = value == value.rounded() ? String(Int(value)) : String(value)
    return Kind.format.unit.isEmpty ? number : "\(number) \(Kind.format.unit)"
  }

  /// The 16-bit UUID of the characteristic.
  public static var assignedNumber: UInt16 { Kind.assignedNumber }
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static var name: String { Kind.name }

  /// Creates a quantity from what was read or notified.
  /// - Throws: ``ProfileError`` with the code `.tooShort` or `.invalidField`.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    let format = Kind.format
    raw = try reader.integer(bytes: format.byteCount, signed: format.isSigned)
    guard format.range.contains(raw) || raw == format.unknown else {
      throw .invalidField("\(Kind.name): \(format.value(raw)) \(format.unit) is outside the range")
    }
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] { raw.integerBytes(Kind.format.byteCount) }
}

/// The characteristic and the number format of a ``Quantity``.
public protocol QuantityKind: Sendable {
  /// The 16-bit UUID of the characteristic.
  static var assignedNumber: UInt16 { get }
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  static var name: String { get }
  /// The format of the number in the characteristic.
  static var format: QuantityFormat { get }
}

/// The format of a quantity's number: bytes, unit, steps and range.
public struct QuantityFormat: Sendable, Hashable {
  /// The number of bytes, 1 to 4.
  public let byteCount: Int
  /// A Boolean value that indicates whether the number can be negative.
  public let isSigned: Bool
  /// The unit as it is displayed, such as `°C`; empty for a number without one.
  public let unit: String
  /// The number of steps in one unit.
  public let divisor: Int
  /// The range of the number, in steps.
  public let range: ClosedRange<Int>
  /// The number that stands for "not known"; `nil` when there is none.
  public let unknown: Int?

  /// Creates the format of an unsigned number; without a range, all numbers but the unknown one are valid.
  init(unsigned count: Int, _ unit: String, steps: Int = 1, _ range: ClosedRange<Int>? = nil, unknown: Int? = nil) {
    byteCount = count
    isSigned = false
    self.unit = unit
    divisor = steps
    let limit = (1 << (8 * count)) - 1
    self.range = range ?? 0...(limit == unknown ? limit - 1 : limit)
    self.unknown = unknown
  }

  /// Creates the format of a signed number; without a range, all numbers but the unknown one are valid.
  init(signed count: Int, _ unit: String, steps: Int = 1, _ range: ClosedRange<Int>? = nil, unknown: Int? = nil) {
    byteCount = count
    isSigned = true
    self.unit = unit
    divisor = steps
    let limit = 1 << (8 * count - 1)
    self.range = range ?? -limit...(limit - 1)
    self.unknown = unknown
  }

  /// Returns the number in the unit for a number of steps.
  func value(_ steps: Int) -> Double { Double(steps) / Double(divisor) }
}
