internal import Glibc

/// The date of HTTP headers (RFC 9110, 5.6.7).
enum HTTPDate {
  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns a time as text, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
  /// - Parameter seconds: The seconds since 1970, of a year with four digits.
  static func text(_ seconds: Int64) -> String {
    var time = time_t(seconds)
    var parts = tm()
    gmtime_r(&time, &parts)
    let day = "\(days[Int(parts.tm_wday)]), \(digits(parts.tm_mday)) \(months[Int(parts.tm_mon)]) "
    let clock = "\(digits(parts.tm_hour)):\(digits(parts.tm_min)):\(digits(parts.tm_sec)) GMT"
    return day + "\(parts.tm_year + 1900) " + clock
  }

  private static func digits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
