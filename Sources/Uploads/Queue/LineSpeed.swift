/// The speed of a line, measured from the bytes that have left.
struct LineSpeed: Sendable {
  /// The time over which the speed is measured.
  static let span = Duration.seconds(10)
  /// The speed in bytes per second below which a line is slow: 256 KiB, with which a part of 8 MiB takes half a minute.
  static let slow = 256.0 * 1024

  /// The numbers of bytes at instants within the last span, one for each second at most.
  private var samples: [(at: Duration, bytes: Int64)] = []

  /// Adds the number of bytes that have left until an instant.
  mutating func add(_ bytes: Int64, at instant: Duration) {
    // After a pause the earlier numbers say nothing about the line.
    if let last = samples.last, instant - last.at > Self.span { samples = [] }
    if samples.count > 1, instant - samples[samples.count - 2].at < .seconds(1) { samples.removeLast() }
    samples.append((instant, bytes))
    while samples.count > 2, instant - samples[1].at >= Self.span { samples.removeFirst() }
  }

  /// A Boolean value that indicates whether the line was slow throughout the last span.
  var isSlow: Bool {
    guard let first = samples.first, let last = samples.last, last.at - first.at >= Self.span else { return false }
    return Double(last.bytes - first.bytes) / ((last.at - first.at) / .seconds(1)) < Self.slow
  }
}
