/// A reader of the sentences RMC and GGA of a file in NMEA 0183; sentences with a wrong checksum are skipped.
enum NMEAReader {
  /// What the sentences of one second say.
  private struct Epoch {
    var time: Substring
    var day: Int64?
    var place: (latitude: Double, longitude: Double)?
    var dilution: Double?
    var altitude: Double?
    var speed: Double?
    var course: Double?
    var isValid = true
  }

  /// The longest sentence in bytes that is read; the standard allows 82.
  private static let lengthLimit = 256
  private static let metresPerSecondInKnot = 0.514444

  static func fixes(in bytes: ArraySlice<UInt8>) -> [LocationFix] {
    var fixes: [LocationFix] = []
    var epoch: Epoch?
    var day: Int64?
    func finish() {
      day = epoch?.day ?? day
      if let fix = epoch.flatMap({ fix(of: $0, day: day) }) { fixes.append(fix) }
      epoch = nil
    }
    for line in bytes.split(whereSeparator: { $0 == 0x0a || $0 == 0x0d }) where line.count <= lengthLimit {
      guard fixes.count < Track.pointLimit, let fields = fields(of: line), fields[0].count == 5,
        let time = fields.field(1)
      else { continue }
      let kind = fields[0].suffix(3)
      guard kind == "RMC" || kind == "GGA" else { continue }
      if epoch?.time != time { finish() }
      var next = epoch ?? Epoch(time: time)
      if kind == "RMC" { readRMC(fields, &next) } else { readGGA(fields, &next) }
      epoch = next
    }
    finish()
    return fixes
  }

  /// Returns the fields of a sentence whose checksum is right.
  private static func fields(of line: ArraySlice<UInt8>) -> [Substring]? {
    guard line.first == UInt8(ascii: "$"), let star = line.lastIndex(of: UInt8(ascii: "*")) else { return nil }
    let sum = line[(line.startIndex + 1)..<star].reduce(UInt8(0), ^)
    guard let named = UInt8(String(decoding: line[(star + 1)...].prefix(2), as: UTF8.self), radix: 16), named == sum
    else { return nil }
    return String(decoding: line[(line.startIndex + 1)..<star], as: UTF8.self)
      .split(separator: ",", omittingEmptySubsequences: false)
  }

  private static func readRMC(_ fields: [Substring], _ epoch: inout Epoch) {
    guard fields.field(2) == "A" else { return epoch.isValid = false }
    epoch.place = place(fields, from: 3) ?? epoch.place
    epoch.speed = fields.number(7).map { $0 * metresPerSecondInKnot }
    epoch.course = fields.number(8).flatMap { (0...360).contains($0) ? $0 : nil }
    epoch.day = fields.field(9).flatMap(day)
  }

  private static func readGGA(_ fields: [Substring], _ epoch: inout Epoch) {
    guard let quality = fields.number(6), quality > 0 else { return epoch.isValid = false }
    epoch.place = epoch.place ?? place(fields, from: 2)
    epoch.dilution = fields.number(8)
    epoch.altitude = fields.number(9)
  }

  private static func fix(of epoch: Epoch, day: Int64?) -> LocationFix? {
    guard epoch.isValid, let place = epoch.place,
      var fix = LocationFix(latitude: place.latitude, longitude: place.longitude)
    else { return nil }
    fix.error = epoch.dilution.flatMap { $0 >= 0 ? $0 * Track.errorPerDilution : nil }
    fix.altitude = epoch.altitude
    fix.speed = epoch.speed.flatMap { $0 >= 0 ? $0 : nil }
    fix.course = epoch.course
    fix.measuredAtMs = day.flatMap { day in timeOfDay(epoch.time).map { day * 86_400_000 + $0 } }
    return fix
  }

  // MARK: Values

  private static func place(_ fields: [Substring], from index: Int) -> (latitude: Double, longitude: Double)? {
    guard let latitude = degrees(fields.number(index), fields.field(index + 1), "N", "S"),
      let longitude = degrees(fields.number(index + 2), fields.field(index + 3), "E", "W")
    else { return nil }
    return (latitude, longitude)
  }

  /// Degrees and minutes in one number, such as 4812.345 for 48° 12.345′.
  private static func degrees(
    _ number: Double?, _ letter: Substring?, _ plus: Substring, _ minus: Substring
  ) -> Double? {
    guard let number, (0...18_000).contains(number), letter == plus || letter == minus else { return nil }
    let degrees = (number / 100).rounded(.down)
    let value = degrees + (number - degrees * 100) / 60
    return letter == plus ? value : -value
  }

  /// The milliseconds since midnight of a time such as 120006.00.
  private static func timeOfDay(_ text: Substring) -> Int64? {
    guard text.utf8.count >= 6, let seconds = Double(text.dropFirst(4)), let hours = Int64(text.prefix(2)),
      let minutes = Int64(text.dropFirst(2).prefix(2)), (0..<24).contains(hours), (0..<60).contains(minutes),
      (0..<61).contains(seconds)
    else { return nil }
    return (hours * 60 + minutes) * 60_000 + Int64((seconds * 1000).rounded())
  }

  /// The days since 1970 of a date such as 251126.
  private static func day(_ text: Substring) -> Int64? {
    guard text.utf8.count == 6, let date = Int64(text), date >= 0 else { return nil }
    let day = date / 10_000
    let month = date / 100 % 100
    let year = date % 100 + 2000
    guard (1...31).contains(day), (1...12).contains(month) else { return nil }
    // The days since 1 March of the year 0, in which a leap day is the last one of a year.
    let shifted = month > 2 ? year : year - 1
    let inYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + inYear - 719_468
  }
}

extension [Substring] {
  fileprivate func field(_ index: Int) -> Substring? { index < count && !self[index].isEmpty ? self[index] : nil }

  fileprivate func number(_ index: Int) -> Double? {
    field(index).flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil }
  }
}
