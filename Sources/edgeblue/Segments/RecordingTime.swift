import Foundation
import Glibc

/// A point in time that a user names: `2026-11-22T08:30:00Z`, `2026-11-22T08:30+01:00`, or in local time `2026-11-22 08:30`,
/// `2026-11-22` for midnight, and `08:30` for today.
struct RecordingTime: Equatable {
  /// The time in Unix milliseconds.
  let unixMs: Int64

  static let help =
    "ISO 8601 with a zone, as 2026-11-22T08:30:00Z, or local time: '2026-11-22 08:30', 2026-11-22, 08:30"

  /// - Parameter now: The present time, whose local date a time of day without a date has.
  init?(_ text: String, now: Date = .now) {
    if let time = try? /(\d\d):(\d\d)(?::(\d\d))?/.wholeMatch(in: text)?.output {
      var seconds = time_t(now.timeIntervalSince1970)
      var day = tm()
      _ = localtime_r(&seconds, &day)
      self.init(
        [Int(day.tm_year) + 1900, Int(day.tm_mon) + 1, Int(day.tm_mday)], [time.1, time.2, time.3 ?? "0"], "", zone: nil
      )
      return
    }
    let pattern = /(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:?\d\d)?)?/
    guard let parts = try? pattern.wholeMatch(in: text)?.output else { return nil }
    let date = [parts.1, parts.2, parts.3].compactMap { Int($0) }
    self.init(date, [parts.4 ?? "0", parts.5 ?? "0", parts.6 ?? "0"], parts.7 ?? "", zone: parts.8)
  }

  private init?(_ date: [Int], _ clock: [Substring], _ fraction: Substring, zone: Substring?) {
    let time = clock.compactMap { Int($0) }
    guard date.count == 3, time.count == 3, time[0] < 24, time[1] < 60, time[2] < 60 else { return nil }
    var fields = tm()
    fields.tm_year = Int32(date[0] - 1900)
    fields.tm_mon = Int32(date[1] - 1)
    fields.tm_mday = Int32(date[2])
    fields.tm_hour = Int32(time[0])
    fields.tm_min = Int32(time[1])
    fields.tm_sec = Int32(time[2])
    // The system knows whether the local time is summer time.
    fields.tm_isdst = -1
    guard let offset = Self.offset(zone) else { return nil }
    let seconds = zone == nil ? mktime(&fields) : timegm(&fields) - offset
    // The 31st of a month that has 30 days has become the first of the next one.
    guard Int(fields.tm_mon) == date[1] - 1, Int(fields.tm_mday) == date[2] else { return nil }
    let milliseconds = Int(String((fraction + "000").prefix(3))) ?? 0
    unixMs = Int64(seconds) * 1000 + Int64(milliseconds)
  }

  /// Returns the seconds east of Greenwich of a zone such as `Z` or `+01:00`.
  private static func offset(_ zone: Substring?) -> Int? {
    guard let zone, zone != "Z" else { return 0 }
    let digits = zone.filter(\.isNumber)
    guard let hours = Int(digits.prefix(2)), let minutes = Int(digits.suffix(2)), hours < 24, minutes < 60 else {
      return nil
    }
    return (hours * 3600 + minutes * 60) * (zone.hasPrefix("-") ? -1 : 1)
  }
}
