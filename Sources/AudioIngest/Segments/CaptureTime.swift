import FoundationEssentials
import Glibc

/// A wall-clock time in local time and in UTC.
struct CaptureTime {
  let iso8601: String
  let localDate: String
  let zone: String
  let utcOffset: Int

  /// - Parameter milliseconds: The time in Unix milliseconds.
  init(_ milliseconds: Int64) {
    let utc = Self.fields(milliseconds, gmtime_r)
    let local = Self.fields(milliseconds, localtime_r)
    iso8601 =
      Self.date(utc) + "T\(Self.digits(utc.tm_hour)):\(Self.digits(utc.tm_min)):\(Self.digits(utc.tm_sec))"
      + ".\(Self.digits(Self.fraction(milliseconds), 3))Z"
    localDate = Self.date(local)
    utcOffset = local.tm_gmtoff
    zone = TimeZone.current.identifier
  }

  /// Returns a time as `20261122T004512.345Z`, which sorts by time and is a valid file name everywhere.
  static func compact(_ milliseconds: Int64) -> String {
    let time = fields(milliseconds, gmtime_r)
    let day = "\(digits(time.tm_year + 1900, 4))\(digits(time.tm_mon + 1))\(digits(time.tm_mday))"
    return day + "T\(digits(time.tm_hour))\(digits(time.tm_min))\(digits(time.tm_sec))"
      + ".\(digits(fraction(milliseconds), 3))Z"
  }

  static func digits(_ number: some BinaryInteger, _ width: Int = 2) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(width - text.count, 0)) + text
  }

  private static func date(_ time: tm) -> String {
    "\(digits(time.tm_year + 1900, 4))-\(digits(time.tm_mon + 1))-\(digits(time.tm_mday))"
  }

  private static func fraction(_ milliseconds: Int64) -> Int64 { (milliseconds % 1000 + 1000) % 1000 }

  private typealias Conversion = (UnsafePointer<time_t>, UnsafeMutablePointer<tm>) -> UnsafeMutablePointer<tm>?

  private static func fields(_ milliseconds: Int64, _ convert: Conversion) -> tm {
    var seconds = time_t((milliseconds - fraction(milliseconds)) / 1000)
    var result = tm()
    // Fails only for years out of range; the result is then 1900.
    _ = convert(&seconds, &result)
    return result
  }
}
