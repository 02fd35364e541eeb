/// Amounts as people read them.
enum Amounts {
  /// `512 B`, `1.4 MiB`, `12 GiB`
  static func bytes(_ count: Int) -> String {
    var value = Double(count)
    var unit = 0
    while value >= 1000, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    return (unit == 0 || value >= 10 ? "\(Int(value.rounded()))" : fixed(value, 1)) + " " + units[unit]
  }

  private static let units = ["B", "KiB", "MiB", "GiB", "TiB"]

  /// With so many digits behind the point, and a real minus sign.
  static func fixed(_ value: Double, _ digits: Int) -> String {
    let factor = (0..<digits).reduce(1) { product, _ in product * 10 }
    let whole = Int((value.magnitude * Double(factor)).rounded())
    let sign = value < 0 && whole > 0 ? "−" : ""
    guard digits > 0 else { return sign + "\(whole)" }
    let fraction = String(whole % factor)
    return sign + "\(whole / factor)." + String(repeating: "0", count: digits - fraction.count) + fraction
  }

  /// `0:07`, `12:34`, `1:02:03`; with so many digits of a second.
  static func clock(_ seconds: Double, digits: Int = 0) -> String {
    let (whole, fraction) = split(max(seconds, 0), digits)
    let minutes = whole >= 3600 ? "\(whole / 3600):\(two(whole / 60 % 60))" : "\(whole / 60)"
    return "\(minutes):\(two(whole % 60))\(fraction)"
  }

  /// `00:45:12` of seconds since some midnight; with so many digits of a second.
  static func timeOfDay(_ seconds: Double, digits: Int = 0) -> String {
    let (whole, fraction) = split(seconds, digits)
    let time = (whole % 86_400 + 86_400) % 86_400
    return "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60))\(fraction)"
  }

  /// Whole seconds, and the digits behind the point. Without digits what is not whole is cut off, as clocks do; with them
  /// it is rounded as a whole, so that 59.9996 is a minute.
  private static func split(_ seconds: Double, _ digits: Int) -> (whole: Int, fraction: String) {
    let factor = (0..<digits).reduce(1) { product, _ in product * 10 }
    let ticks = Int((seconds * Double(factor)).rounded(digits == 0 ? .down : .toNearestOrAwayFromZero))
    let rest = (ticks % factor + factor) % factor
    let text = String(rest)
    let fraction = digits == 0 ? "" : "." + String(repeating: "0", count: digits - text.count) + text
    return ((ticks - rest) / factor, fraction)
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// `−23.1 dB`
  static func decibels(_ value: Double) -> String { "\(fixed(value, 1)) dB" }
}
