/// A reading of a clock, from a server of the Current Time service.
///
/// ```swift
/// let now = CurrentTime(try DateTime(bytes: [0xea, 0x07, 11, 23, 15, 4, 9]), weekday: .monday)
/// print(now.bytes.count)  // 10
/// ```
public struct CurrentTime: CharacteristicValue {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a2b
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Current Time"

  /// The day of the week, Monday first.
  public enum Weekday: UInt8, Sendable, Hashable, CaseIterable {
    /// A day that the clock does not know.
    case unknown = 0
    /// The days by their names.
    case monday, tuesday, wednesday, thursday, friday, saturday, sunday
  }

  /// The reasons why a clock was set.
  public struct Adjustment: OptionSet, Sendable, Hashable {
    /// The octet as it is sent.
    public let rawValue: UInt8

    /// Creates reasons from the octet.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A person set the clock.
    public static let manual = Adjustment(rawValue: 0x01)
    /// The clock took over the time of a reference.
    public static let reference = Adjustment(rawValue: 0x02)
    /// The time zone of the clock changed.
    public static let timeZone = Adjustment(rawValue: 0x04)
    /// Daylight saving time began or ended.
    public static let daylightSaving = Adjustment(rawValue: 0x08)
  }

  /// The date and the local time.
  public var dateTime: DateTime
  /// The day of the week.
  public var weekday: Weekday
  /// The fraction of the second, in units of 1/256 s.
  public var fraction: UInt8
  /// The reasons why the clock was last set.
  public var adjustment: Adjustment

  /// Creates a reading of a clock.
  public init(
    _ dateTime: DateTime, weekday: Weekday = .unknown, fraction: UInt8 = 0, adjustment: Adjustment = []
  ) {
    self.dateTime = dateTime
    self.weekday = weekday
    self.fraction = fraction
    self.adjustment = adjustment
  }

  /// Creates a reading from what was read, written or notified.
  /// - Throws: ``ProfileError`` with the code `.tooShort` or `.invalidField`.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    dateTime = try DateTime(&reader)
    weekday = try reader.assigned("day of the week")
    fraction = try reader.integer()
    adjustment = Adjustment(rawValue: try reader.integer())
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] { dateTime.bytes + [weekday.rawValue, fraction, adjustment.rawValue] }
}

/// The time zone of a clock, and its daylight saving time.
///
/// ```swift
/// let zone = try LocalTimeInformation(quarterHours: 4, daylightSaving: .standard)
/// print(zone.offset.map { "\($0)" } ?? "not known")  // 3600.0 seconds
/// ```
public struct LocalTimeInformation: CharacteristicValue {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a0f
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Local Time Information"
  private static let unknown: Int8 = -128

  /// The offset of daylight saving time.
  public enum DaylightSaving: UInt8, Sendable, Hashable, CaseIterable {
    /// Standard time, without an offset.
    case standard = 0
    /// Half an hour, as on Lord Howe Island.
    case halfAnHour = 2
    /// One hour, as in most places.
    case oneHour = 4
    /// Two hours, for double daylight saving time.
    case twoHours = 8
    /// An offset that the clock does not know.
    case unknown = 255
  }

  /// The offset of standard time from UTC in quarters of an hour, −48 to 56; `nil` when it is not known.
  public let quarterHours: Int?
  /// The offset of daylight saving time, beside that of the zone.
  public let daylightSaving: DaylightSaving

  /// The offset of standard time from UTC; `nil` when it is not known.
  public var offset: Duration? { quarterHours.map { .seconds($0 * 900) } }

  /// Creates the information about a zone.
  /// - Throws: ``ProfileError`` with the code `.invalidArgument` outside −48 to 56 quarters of an hour.
  public init(quarterHours: Int?, daylightSaving: DaylightSaving) throws(ProfileError) {
    guard quarterHours.map({ -48...56 ~= $0 }) ?? true else {
      throw ProfileError(.invalidArgument, "\(Self.name): an offset is −48 to 56 quarters of an hour")
    }
    self.quarterHours = quarterHours
    self.daylightSaving = daylightSaving
  }

  /// Creates the information from what was read.
  /// - Throws: ``ProfileError`` with the code `.tooShort` or `.invalidField`.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    let zone = try reader.integer(Int8.self)
    guard zone == Self.unknown || -48...56 ~= zone else {
      throw .invalidField("\(Self.name): \(zone) quarters of an hour is no time zone")
    }
    quarterHours = zone == Self.unknown ? nil : Int(zone)
    daylightSaving = try reader.assigned("offset of daylight saving time")
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] {
    [UInt8(bitPattern: quarterHours.map { Int8($0) } ?? Self.unknown), daylightSaving.rawValue]
  }
}

/// The origin of a clock's time, and its quality.
public struct ReferenceTimeInformation: CharacteristicValue {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a14
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Reference Time Information"

  /// The reference that a clock was set by.
  public enum Source: UInt8, Sendable, Hashable, CaseIterable {
    /// A reference that the clock does not know.
    case unknown = 0
    /// The Network Time Protocol of the Internet.
    case networkTimeProtocol = 1
    /// A satellite navigation system, such as GPS.
    case satellite = 2
    /// A radio time signal, as that of DCF77.
    case radio = 3
    /// A person with a watch.
    case manual = 4
    /// An atomic clock of its own.
    case atomicClock = 5
    /// A cellular network with a clock.
    case cellular = 6
    /// No reference: the clock was not set.
    case notSynchronized = 7
  }

  /// The reference that the clock was last set by.
  public var source: Source
  /// The accuracy in units of 1/8 s; 254 stands for more than 31.625 s, and 255 for not known.
  public var accuracy: UInt8
  /// The days since the clock was set; 255 stands for that many or more.
  public var days: UInt8
  /// The hours since the clock was set, beside the days: 0 to 23, or 255 when the days are 255.
  public private(set) var hours: UInt8

  /// Creates the information about a clock.
  /// - Throws: ``ProfileError`` with the code `.invalidArgument` when the hours are outside their range.
  public init(source: Source, accuracy: UInt8, days: UInt8, hours: UInt8) throws(ProfileError) {
    guard hours < 24 || hours == 255 else {
      throw ProfileError(.invalidArgument, "\(Self.name): the hours \(hours) are not in 0–23")
    }
    self.source = source
    self.accuracy = accuracy
    self.days = days
    self.hours = hours
  }

  /// Creates the information from what was read.
  /// - Throws: ``ProfileError`` with the code `.tooShort` or `.invalidField`.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    source = try reader.assigned("time source")
    accuracy = try reader.integer()
    days = try reader.integer()
    hours = try reader.integer()
    guard hours < 24 || hours == 255 else {
      throw .invalidField("\(Self.name): the hours \(hours) are not in 0–23")
    }
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] { [source.rawValue, accuracy, days, hours] }
}
