/// Formats amounts for display.
enum Amounts {
  /// Returns a number of bytes with its unit: `512 B`, `1.4 MiB`, `12 GiB`.
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

  /// Returns a number with a fixed number of decimals and a typographic minus sign.
  static func fixed(_ value: Double, _ digits: Int) -> String {
    let factor = (0..<digits).reduce(1) { product, _ in product * 10 }
    let whole = Int((value.magnitude * Double(factor)).rounded())
    let sign = value < 0 && whole > 0 ? "−" : ""
    guard digits > 0 else { return sign + "\(whole)" }
    let fraction = String(whole % factor)
    return sign + "\(whole / factor)." + String(repeating: "0", count: digits - fraction.count) + fraction
  }

  /// Returns a duration in seconds as `0:07`, `12:34` or `1:02:03`, with a number of decimals of a second.
  static func clock(_ seconds: Double, digits: Int = 0) -> String {
    let (whole, fraction) = split(max(seconds, 0), digits)
    let minutes = whole >= 3600 ? "\(whole / 3600):\(two(whole / 60 % 60))" : "\(whole / 60)"
    return "\(minutes):\(two(whole % 60))\(fraction)"
  }

  /// Returns a time of day, from seconds since any midnight, as `00:45:12`, with a number of decimals of a second.
  static func timeOfDay(_ seconds: Double, digits: Int = 0) -> String {
    let (whole, fraction) = split(seconds, digits)
    let time = (whole % 86_400 + 86_400) % 86_400
    return "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60))\(fraction)"
  }

  /// Returns whole seconds and their decimals. Without decimals the rest is cut off, as clocks do; with decimals the
  /// number is rounded as a whole, so that 59.9996 becomes a minute.
  private static func split(_ seconds: Double, _ digits: Int) -> (whole: Int, fraction: String) {
    let factor = (0..<digits).reduce(1) { product, _ in product * 10 }
    let ticks = Int((seconds * Double(factor)).rounded(digits == 0 ? .down : .toNearestOrAwayFromZero))
    let rest = (ticks % factor + factor) % factor
    let text = String(rest)
    let fraction = digits == 0 ? "" : "." + String(repeating: "0", count: digits - text.count) + text
    return ((ticks - rest) / factor, fraction)
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// Returns a level in decibels: `−23.1 dB`.
  static func decibels(_ value: Double) -> String { "\(fixed(value, 1)) dB" }
}
