internal import FoundationEssentials

/// The state machine of a connection to gpsd: bytes go in, updates come out.
///
/// gpsd sends one JSON object on each line. Reports of other classes, and of receivers without a fix, are counted as a
/// sign of life and nothing more.
struct GPSDMachine: Sendable {
  /// The line that makes gpsd report.
  static let watch = "?WATCH={\"enable\":true,\"json\":true};\n"
  /// The line that makes gpsd answer, whatever its receivers do.
  static let poll = "?VERSION;\n"
  /// The longest line in bytes; gpsd's own limit is 10240.
  static let lineLimit = 65_536

  /// The reason to give up a connection.
  struct Violation: Error, Hashable {
    var text: String
  }

  private var line: [UInt8] = []
  private var isSearching: Bool?
  /// The time of the newest report of each receiver: the same one again is an old location.
  private var times: [String: String] = [:]

  /// The number of receivers whose times are kept.
  private static let receivers = 32

  private struct Report: Decodable {
    var `class`: String
    var device: String?
    var mode: Int?
    var time: String?
    var lat: Double?
    var lon: Double?
    var altMSL: Double?
    var alt: Double?
    var speed: Double?
    var track: Double?
    var eph: Double?
    var epx: Double?
    var epy: Double?
  }

  /// Accepts bytes of gpsd and returns the updates in them.
  /// - Throws: ``Violation`` for a line that is too long, or no JSON.
  mutating func receive(_ bytes: some Sequence<UInt8>) throws(Violation) -> [LocationUpdate] {
    var updates: [LocationUpdate] = []
    for byte in bytes {
      guard byte == 0x0a else {
        guard line.count < Self.lineLimit else {
          throw Violation(text: "a line has more than \(Self.lineLimit) bytes")
        }
        line.append(byte)
        continue
      }
      defer { line.removeAll(keepingCapacity: true) }
      if line.allSatisfy({ $0 <= 0x20 }) { continue }
      if let update = try update(in: line) { updates.append(update) }
    }
    return updates
  }

  private mutating func update(in line: [UInt8]) throws(Violation) -> LocationUpdate? {
    // The reason is not worth more: the line is not that of a gpsd.
    guard let report = try? JSONDecoder().decode(Report.self, from: Data(line)) else {
      throw Violation(text: "a line is no report of gpsd")
    }
    switch report.class {
    case "TPV": return position(report)
    case "WATCH", "DEVICES": return isSearching == nil ? searching() : nil
    default: return nil
    }
  }

  private mutating func position(_ report: Report) -> LocationUpdate? {
    guard (report.mode ?? 0) >= 2, let latitude = report.lat, let longitude = report.lon,
      var fix = LocationFix(latitude: latitude, longitude: longitude)
    else { return isSearching == true ? nil : searching() }
    let device = report.device ?? ""
    if let time = report.time {
      guard times[device] != time else { return nil }
      if times.count >= Self.receivers { times = [:] }
      times[device] = time
      fix.measuredAtMs = ISO8601.milliseconds(time)
    }
    isSearching = false
    fix.error = Self.error(report)
    fix.altitude = report.altMSL ?? report.alt
    fix.speed = report.speed.flatMap { $0 >= 0 ? $0 : nil }
    fix.course = report.track.flatMap { (0...360).contains($0) ? $0 : nil }
    return .fix(fix)
  }

  private mutating func searching() -> LocationUpdate {
    isSearching = true
    return .searching
  }

  /// The horizontal error; receivers that do not report one have it for each axis, or not at all.
  private static func error(_ report: Report) -> Double? {
    let error = report.eph ?? report.epx.flatMap { x in report.epy.map { (x * x + $0 * $0).squareRoot() } }
    return error.flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
  }
}

/// The times of gpsd, GPX and NMEA.
enum ISO8601 {
  /// Returns the milliseconds since 1970 of a time in UTC such as `2026-11-25T12:00:06.000Z`; `nil` for other text.
  static func milliseconds(_ text: String) -> Int64? {
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
    // Other forms of the time are as good as none.
    guard let date = try? style.parse(text) else { return nil }
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    return abs(milliseconds) < 1e15 ? Int64(milliseconds) : nil
  }
}
