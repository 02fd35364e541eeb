/// A date and a time of day as a clock displays it, without a time zone.
///
/// ```swift
/// let start = try DateTime(year: 2026, month: 11, day: 23, hour: 15, minute: 4, second: 9)
/// print(start, start.bytes)  // 2026-11-23 15:04:09 [234, 7, 11, 23, 15, 4, 9]
/// ```
public struct DateTime: CharacteristicValue, CustomStringConvertible {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a08
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Date Time"

  /// The year, 1582 to 9999; 0 when it is not known.
  public let year: Int
  /// The month, 1 to 12; 0 when it is not known.
  public let month: Int
  /// The day of the month, 1 to 31; 0 when it is not known.
  public let day: Int
  /// The hour, 0 to 23.
  public let hour: Int
  /// The minute, 0 to 59.
  public let minute: Int
  /// The second, 0 to 59.
  public let second: Int

  /// Creates a date with a time of day.
  /// - Throws: ``ProfileError`` with the code `.invalidArgument` outside the ranges of the properties.
  public init(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) throws(ProfileError) {
    self.year = year
    self.month = month
    self.day = day
    self.hour = hour
    self.minute = minute
    self.second = second
    if let fault { throw ProfileError(.invalidArgument, "\(Self.name): \(fault)") }
  }

  /// Creates a date from what was read.
  /// - Throws: ``ProfileError`` with the code `.tooShort` or `.invalidField`.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    year = Int(try reader.integer(UInt16.self))
    month = Int(try reader.integer(UInt8.self))
    day = Int(try reader.integer(UInt8.self))
    hour = Int(try reader.integer(UInt8.self))
    minute = Int(try reader.integer(UInt8.self))
    second = Int(try reader.integer(UInt8.self))
    if let fault { throw .invalidField("\(Self.name): \(fault)") }
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] { year.integerBytes(2) + [month, day, hour, minute, second].map { UInt8($0) } }

  /// The date and the time, as in ISO 8601.
  public var description: String {
    let date = Self.digits(year, 4) + "-" + Self.digits(month, 2) + "-" + Self.digits(day, 2)
    return date + " " + [hour, minute, second].map { Self.digits($0, 2) }.joined(separator: ":")
  }

  private var fault: String? {
    guard year == 0 || 1582...9999 ~= year else { return "the year \(year) is not in 1582–9999" }
    guard 0...12 ~= month, 0...31 ~= day else { return "month \(month), day \(day) is no date" }
    let isTime = 0...23 ~= hour && 0...59 ~= minute && 0...59 ~= second
    return isTime ? nil : "\(hour):\(minute):\(second) is no time of day"
  }

  private static func digits(_ number: Int, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }
}
