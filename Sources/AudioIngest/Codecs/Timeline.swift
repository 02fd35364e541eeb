/// The one owner of the sample positions of a stream, and of the time at which each sample was captured.
///
/// Two positions move along a stream: ``decoded`` counts the samples that a decoder has produced, and ``kept`` those that
/// segments have received. Between them lie the samples that wait for the rest of a block. ``arrived(at:)`` compares the
/// position with the time that has passed, and so finds samples that the device never sent: what it drops when its
/// memory is full, or while it restarts, has no packet number.
///
/// Packets arrive late, in bursts, but never early: the smallest delay counts. When every packet of five seconds has come
/// at least 0.6 s later than usual, that much audio is missing.
///
/// ```swift
/// var timeline = Timeline(sampleRate: 16_000)
/// for frame in 1...50 {
///   timeline.decode(320)
///   _ = timeline.arrived(at: .milliseconds(frame * 20))
/// }
/// print(timeline.decoded, timeline.instant(of: 8000) ?? .zero)  // 16000 0.5 seconds
/// ```
public struct Timeline: Sendable {
  /// Samples that a device did not send, as found by the time that has passed.
  public struct Shortfall: Sendable, Hashable {
    /// The number of samples that are missing.
    public var samples: Int
    /// The position before the first sample that came late: the missing samples belong there.
    public var position: Int
  }

  private struct Arrival {
    var instant: Duration
    var position: Int
    /// The instant at which the first sample would have arrived with the smallest delay seen so far.
    var origin: Duration
  }

  private struct Delay {
    var since: Duration
    var least: Duration
    /// The position before the first late sample.
    var position: Int
  }

  private static let threshold = Duration.milliseconds(600)
  private static let patience = Duration.seconds(5)
  /// Two cheap oscillators drift apart by less than 200 µs a second.
  private static let drift = 5000

  /// The number of samples per second.
  public let sampleRate: Int
  /// The position behind the last decoded sample, from the start of the stream.
  public private(set) var decoded = 0
  /// The position behind the last sample that segments have received, at most ``decoded``.
  public private(set) var kept = 0
  /// The number of samples that lie in gaps, of this stream and of those before a ``restart()``.
  public private(set) var missing = 0
  private var lastArrival: Arrival?
  /// The state while every packet is late.
  private var delay: Delay?

  /// Creates a timeline at position 0.
  public init(sampleRate: Int) { self.sampleRate = sampleRate }

  /// Moves ``decoded`` forward by samples that a decoder has produced.
  public mutating func decode(_ samples: Int) { decoded += samples }

  /// Moves ``decoded`` forward by samples that stand for missing ones.
  public mutating func fill(_ samples: Int) {
    decoded += samples
    missing += samples
  }

  /// Moves ``kept`` forward by samples that segments have received.
  public mutating func keep(_ samples: Int) { kept += samples }

  /// Moves both positions forward by samples inserted before ``kept``, for audio that was missing further back.
  public mutating func insert(_ samples: Int) {
    fill(samples)
    kept += samples
  }

  /// Starts at position 0 again, with a new stream; ``missing`` stays.
  public mutating func restart() {
    decoded = 0
    kept = 0
    lastArrival = nil
    delay = nil
  }

  /// Returns the instant at which a sample was captured, on the clock of the arrivals; `nil` before the first arrival.
  public func instant(of position: Int) -> Duration? {
    lastArrival.map { $0.origin + .samples(position, at: sampleRate) }
  }

  /// Records that all samples up to ``decoded`` have arrived.
  /// - Parameter instant: The present instant, on any monotonic clock.
  /// - Returns: The samples that are now known to be missing. The caller accounts for them before the next arrival, with
  ///   ``insert(_:)`` or ``fill(_:)``, or restarts the timeline.
  public mutating func arrived(at instant: Duration) -> Shortfall? {
    let origin = instant - .samples(decoded, at: sampleRate)
    guard let last = lastArrival else {
      lastArrival = Arrival(instant: instant, position: decoded, origin: origin)
      return nil
    }
    let usual = min(last.origin + (instant - last.instant) / Self.drift, origin)
    lastArrival = Arrival(instant: instant, position: decoded, origin: usual)
    guard origin - usual > Self.threshold else {
      delay = nil
      return nil
    }
    var late = delay ?? Delay(since: instant, least: origin - usual, position: last.position)
    late.least = min(late.least, origin - usual)
    delay = late
    guard instant - late.since >= Self.patience else { return nil }
    delay = nil
    let samples = late.least.samples(at: sampleRate)
    // The samples that stand for it move the positions, and so the delay becomes the usual one again.
    lastArrival?.position += samples
    return Shortfall(samples: samples, position: late.position)
  }
}
