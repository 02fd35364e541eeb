/// Compares what arrived with the time that passed, to see what a device never sent: what it drops when its memory is
/// full, or while it starts anew, takes no packet number.
///
/// Packets may come late, in bursts, never early: the least delay counts. When for five seconds every packet came at
/// least 0.6 s later than was usual, so much is missing.
struct ArrivalClock {
  private static let threshold = Duration.milliseconds(600)
  private static let patience = Duration.seconds(5)
  /// Two cheap oscillators drift apart by less than 200 µs a second.
  private static let drift = 5000

  private let sampleRate: Int
  /// The arrival that the first sample would have had with the least delay seen.
  private var base: Duration?
  private var lastArrival = Duration.zero
  private var lastPosition = 0
  /// Since when every packet is late, the least of their delays, and the position before the first of them.
  private var late: (since: Duration, least: Duration, place: Int)?

  init(sampleRate: Int) { self.sampleRate = sampleRate }

  /// When a sample was captured, on the clock of the arrivals; `nil` before anything arrived.
  func instant(of position: Int) -> Duration? { base.map { $0 + .samples(position, at: sampleRate) } }

  /// Notes that all samples up to a position have arrived.
  /// - Returns: how many samples are missing, and from which position on; 0 when none are known to be.
  mutating func note(_ position: Int, at instant: Duration) -> (samples: Int, place: Int) {
    let before = lastPosition
    lastPosition = position
    let origin = instant - .samples(position, at: sampleRate)
    guard var usual = base else {
      (base, lastArrival) = (origin, instant)
      return (0, position)
    }
    usual = min(usual + (instant - lastArrival) / Self.drift, origin)
    (base, lastArrival) = (usual, instant)
    let delay = origin - usual
    guard delay > Self.threshold else {
      late = nil
      return (0, position)
    }
    let (since, place) = (late?.since ?? instant, late?.place ?? before)
    let least = min(late?.least ?? delay, delay)
    late = (since, least, place)
    guard instant - since >= Self.patience else { return (0, position) }
    late = nil
    // What is put in for it moves the positions: the delay is then as usual.
    let samples = least.samples(at: sampleRate)
    lastPosition += samples
    return (samples, place)
  }
}
