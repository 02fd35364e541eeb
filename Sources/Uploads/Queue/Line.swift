/// The line to a server: its speed and its latency, as uploads show them, and the number of requests that keep it busy.
///
/// One connection keeps few packets on their way where some of them are lost. The longer the latency, the more connections
/// it takes to use a line. More than it takes only make each request last longer, and lose more when the line is cut.
struct Line: Sendable {
  /// The time over which the speed is measured.
  static let span = Duration.seconds(10)
  /// The speed in bytes per second below which a line is slow: 256 KiB, with which a part of 8 MiB takes half a minute.
  static let slow = 256.0 * 1024
  /// The bytes that one connection keeps on their way while one packet in twenty is lost: 16 KiB, about as CUBIC's formula
  /// has it at a latency of 2 s (RFC 9438, section 5.1).
  static let share = 16.0 * 1024
  /// The least number of requests at a time over a slow line: one sends while another waits for its response.
  static let fewest = 2

  /// The numbers of bytes at instants within the last span, one for each second at most.
  private var samples: [(at: Duration, bytes: Int64)] = []
  /// The shortest time from a small request to its response; `nil` before the first.
  private var roundTrip: Duration?
  /// The highest of the speeds so far.
  private var highest = 0.0

  /// Adds the number of bytes that have left until an instant.
  mutating func add(_ bytes: Int64, at instant: Duration) {
    // After a pause the earlier numbers say nothing about the line.
    if let last = samples.last, instant - last.at > Self.span { samples = [] }
    if samples.count > 1, instant - samples[samples.count - 2].at < .seconds(1) { samples.removeLast() }
    samples.append((instant, bytes))
    while samples.count > 2, instant - samples[1].at >= Self.span { samples.removeFirst() }
    highest = max(highest, speed ?? 0)
  }

  /// Adds the time from a small request to its response. The shortest counts: others waited behind what was being sent.
  mutating func add(roundTrip time: Duration) { roundTrip = min(roundTrip ?? time, time) }

  /// The bytes per second of the last span; `nil` before the first is over.
  private var speed: Double? {
    guard let first = samples.first, let last = samples.last, last.at - first.at >= Self.span else { return nil }
    return Double(last.bytes - first.bytes) / ((last.at - first.at) / .seconds(1))
  }

  /// Returns the number of requests that are to be sent at a time: over a slow line what keeps it busy, from
  /// ``fewest`` to twice the usual number.
  ///
  /// The highest speed counts: where too few requests are what makes the line slow, there would be ever fewer.
  /// - Parameter usual: The number for a line that is not slow. One that is not known yet may be slow.
  func requests(usual: Int) -> Int {
    guard let roundTrip else { return usual }
    func needed(at speed: Double) -> Int {
      Int(min((speed * (roundTrip / .seconds(1)) / Self.share).rounded(.up), Double(usual) * 2))
    }
    guard let speed else { return max(needed(at: Self.slow), usual) }
    return speed < Self.slow ? max(needed(at: min(highest, Self.slow)), Self.fewest) : usual
  }
}
