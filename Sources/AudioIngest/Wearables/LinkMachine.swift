/// How a wearable is come to and kept. A value without clock: what happens goes in, what is to be done comes out.
///
/// Each phase has a limit. Between two attempts it waits 2, 5, 10, 20, 30 and then 60 s, give or take a fifth; only a
/// stream of a minute makes it begin at 2 s again, so that a link that comes and goes costs little. A stream that stops
/// for five seconds is no fault by itself, for devices can be muted: the device is asked something, and the link is
/// given up when it does not answer.
public struct LinkMachine: Sendable {
  /// Where it stands.
  public enum State: String, Sendable, Hashable, Codable {
    /// Nothing is to be done.
    case idle
    /// A device of the kind is looked for.
    case searching
    /// A link is being made.
    case connecting
    /// It is being subscribed to, and asked for its codec.
    case subscribing
    /// Audio comes.
    case streaming
    /// The link lives, and no audio comes.
    case muted
    /// Until the next attempt.
    case waiting
  }

  /// What happens.
  enum Event: Hashable {
    /// Recording begins; it may be known which device is meant.
    case start(isKnown: Bool)
    case found
    case connected
    case subscribed
    /// A notification came.
    case arrived
    /// Time has passed.
    case passed
    /// The device answered the probe, or did not.
    case probed(Bool)
    /// A phase failed, or the link is gone.
    case failed
    /// The pause is over.
    case waited
  }

  /// What is to be done.
  enum Action: Hashable {
    case nothing
    case search(limit: Duration)
    case connect(limit: Duration)
    case subscribe(limit: Duration)
    case stream
    case probe
    /// Ends what there is of a link, and then waits.
    case wait(Duration)
  }

  static let pauses: [Duration] = [.seconds(2), .seconds(5), .seconds(10), .seconds(20), .seconds(30), .seconds(60)]
  static let searchLimit = Duration.seconds(60)
  static let connectLimit = Duration.seconds(20)
  static let subscribeLimit = Duration.seconds(20)
  static let probeLimit = Duration.seconds(5)
  static let quiet = Duration.seconds(5)
  static let probeInterval = Duration.seconds(15)
  static let stable = Duration.seconds(60)

  /// Where it stands.
  private(set) var state = State.idle
  /// How many attempts ended since a stream was stable.
  private(set) var failures = 0
  private var isKnown = false
  private var streamingSince = Duration.zero
  /// When the device was last heard of, by audio or by an answer.
  private var lastSign = Duration.zero
  private let jitter: @Sendable () -> Double

  /// - Parameter jitter: a number from −1 to 1, at random.
  init(jitter: @escaping @Sendable () -> Double = { .random(in: -1...1) }) { self.jitter = jitter }

  /// Takes an event.
  mutating func handle(_ event: Event, at instant: Duration) -> Action {
    switch (state, event) {
    case (.idle, .start(let isKnown)):
      self.isKnown = isKnown
      return attempt()
    case (.searching, .found):
      isKnown = true
      return attempt()
    case (.connecting, .connected):
      state = .subscribing
      return .subscribe(limit: Self.subscribeLimit)
    case (.subscribing, .subscribed):
      (state, streamingSince, lastSign) = (.streaming, instant, instant)
      return .stream
    case (.streaming, .arrived), (.muted, .arrived):
      if state == .muted { streamingSince = instant }
      (state, lastSign) = (.streaming, instant)
      if instant - streamingSince >= Self.stable { failures = 0 }
      return .nothing
    case (.streaming, .passed) where instant - lastSign >= Self.quiet,
      (.muted, .passed) where instant - lastSign >= Self.probeInterval:
      return .probe
    case (.streaming, .probed(true)), (.muted, .probed(true)):
      // Audio may have come while the device was asked.
      if instant - lastSign >= Self.quiet { state = .muted }
      lastSign = instant
      return .nothing
    case (.streaming, .probed(false)), (.muted, .probed(false)): return pause()
    case (.idle, _), (.waiting, .failed): return .nothing
    case (_, .failed): return pause()
    case (.waiting, .waited): return attempt()
    default: return .nothing
    }
  }

  private mutating func attempt() -> Action {
    state = isKnown ? .connecting : .searching
    return isKnown ? .connect(limit: Self.connectLimit) : .search(limit: Self.searchLimit)
  }

  private mutating func pause() -> Action {
    let pause = Self.pauses[min(failures, Self.pauses.count - 1)]
    failures += 1
    state = .waiting
    return .wait(pause + pause * (jitter() / 5))
  }
}
