import Glibc

/// The header `Retry-After` of RFC 9110: a number of seconds, or a date.
enum RetryAfter {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns the delay that a value demands; `nil` if it is malformed, and 0 s for a date in the past.
  /// - Parameter now: The time, in seconds since 1970.
  static func delay(_ value: String, at now: Int) -> Duration? {
    let text = value.drop { $0 == " " }
    if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
      // A longer number is longer than anybody waits.
      return .seconds(Int(text) ?? Int(Int32.max))
    }
    let date = /[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT/
    guard let match = text.wholeMatch(of: date)?.output, let month = months.firstIndex(of: String(match.2)) else {
      return nil
    }
    func number(_ digits: Substring) -> Int32 { Int32(digits) ?? 0 }
    var parts = tm()
    parts.tm_year = number(match.3) - 1900
    parts.tm_mon = Int32(month)
    parts.tm_mday = number(match.1)
    parts.tm_hour = number(match.4)
    parts.tm_min = number(match.5)
    parts.tm_sec = number(match.6)
    return .seconds(max(0, timegm(&parts) - now))
  }
}
