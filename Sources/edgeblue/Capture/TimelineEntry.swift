import Btsnoop
import Glibc
import JSONValues

/// A line of the timeline: something that happened, or several of the same kind in a row.
struct TimelineEntry: Sendable {
  /// The instant, or that of the first, in microseconds since 1970.
  var time: Int64
  var adapter: UInt16
  var link: Link?
  /// The name of the event in JSON.
  var event: String
  var text: String
  var fields: [String: JSONValue] = [:]
  var paint: Terminal.Paint?

  /// Prints the line; in JSON the object.
  func print(_ terminal: Terminal) {
    guard terminal.json else { return terminal.say(line(terminal)) }
    terminal.print(json: json)
  }

  private func line(_ terminal: Terminal) -> String {
    let clock = Self.clock(time).time
    let place =
      adapter == CaptureRecord.noAdapter ? "" : "hci\(adapter)" + (link.map { " #\($0.number)" } ?? "")
    let shown = paint.map { terminal.paint(text, $0) } ?? text
    return terminal.paint(clock, .dim) + "  " + terminal.paint(place.padded(to: 9), .dim) + shown
  }

  var json: JSONValue {
    var all = fields
    all["event"] = .string(event)
    all["time"] = .string(Self.timestamp(time))
    if adapter != CaptureRecord.noAdapter { all["adapter"] = .string("hci\(adapter)") }
    if let link {
      all["connection"] = .number(link.number)
      if let peer = link.peer { all["device"] = .string(peer.description) }
    }
    return .object(all)
  }

  /// Returns the local day, and the time of day to the millisecond.
  static func clock(_ time: Int64) -> (day: String, time: String) {
    let (seconds, rest) = time.quotientAndRemainder(dividingBy: 1_000_000)
    let text = Terminal.clock(atMs: seconds.multipliedReportingOverflow(by: 1000).partialValue)
    let parts = text.split(separator: " ")
    let milliseconds = String(Int(rest.magnitude / 1000) + 1000).dropFirst()
    return (String(parts.first ?? ""), "\(parts.last ?? "").\(milliseconds)")
  }

  /// Returns the instant in universal time, to the microsecond, as ISO 8601 has it.
  static func timestamp(_ time: Int64) -> String {
    var seconds = time_t(time / 1_000_000)
    var rest = time % 1_000_000
    if rest < 0 {
      rest += 1_000_000
      seconds -= 1
    }
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func digits(_ number: Int, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(count - text.count, 0)) + text
    }
    let day = [(Int(parts.tm_year) + 1900, 4), (Int(parts.tm_mon) + 1, 2), (Int(parts.tm_mday), 2)]
    let clock = [(Int(parts.tm_hour), 2), (Int(parts.tm_min), 2), (Int(parts.tm_sec), 2)]
    return day.map(digits).joined(separator: "-") + "T" + clock.map(digits).joined(separator: ":") + "."
      + digits(Int(rest), 6) + "Z"
  }
}
