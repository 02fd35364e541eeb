/// A state machine that finds a wearable and keeps the connection to it, without a clock or a radio: events go in, actions
/// come out.
///
/// Each phase has a timeout. Between two attempts it waits 2, 5, 10, 20, 30 and then 60 s, each varied by up to a fifth;
/// only a stream of a minute resets the delay to 2 s, so that an unstable connection costs little. A stream that stops for
/// five seconds is no fault by itself, because devices can be muted: the device is probed, and the connection is given up
/// if it does not respond within 20 s and sends no audio meanwhile.
///
/// A ``WearableRecorder`` performs the actions; a program sees the ``State``:
///
/// ```swift
/// for await event in WearableRecorder(OmiWearable(), at: adapter, into: try SegmentFolder(path: "r")).events() {
///   if case .state(let state) = event, state == .streaming { print("audio arrives") }
/// }
/// ```
public struct ConnectionMachine: Sendable {
  /// The state of the connection to a wearable.
  public enum State: String, Sendable, Hashable, Codable {
    /// The recorder has not been started.
    case idle
    /// The adapter scans for a device of the kind.
    case searching
    /// A connection is being established.
    case connecting
    /// The recorder subscribes to the audio, and reads the codec.
    case subscribing
    /// The device is connected and sends audio.
    case streaming
    /// The device is connected and responds, but sends no audio.
    case muted
    /// The recorder waits for the next attempt.
    case waiting
  }

  /// An event, to which the machine responds.
  enum Event: Hashable {
    /// Recording starts; the device may be known.
    case start(isKnown: Bool)
    case found
    case connected
    case subscribed
    /// A notification arrived.
    case arrived
    /// Some time has passed.
    case passed
    /// The device responded to the probe, or did not.
    case probed(Bool)
    /// A phase failed, or the connection is lost.
    case failed
    /// The delay is over.
    case waited
  }

  /// An action, which the recorder performs.
  enum Action: Hashable {
    case search(timeout: Duration)
    case connect(timeout: Duration)
    case subscribe(timeout: Duration)
    case stream
    case probe
    /// Disconnect, and then wait.
    case wait(Duration)
  }

  private enum Phase: Hashable {
    case idle
    case searching
    case connecting
    case subscribing
    /// Audio has arrived since one instant; the device last showed a sign of life at another.
    case streaming(since: Duration, lastSign: Duration)
    case muted(lastSign: Duration)
    case waiting
  }

  /// The delays before the second and later attempts. They are a table and no `Backoff`, because they do not double: the
  /// first ones are short for a device that was just restarted, and 60 s is reached at the sixth.
  static let delays: [Duration] = [.seconds(2), .seconds(5), .seconds(10), .seconds(20), .seconds(30), .seconds(60)]
  static let searchTimeout = Duration.seconds(60)
  static let connectTimeout = Duration.seconds(20)
  static let subscribeTimeout = Duration.seconds(20)
  /// As long as the other phases have: the kernel ends a link that is lost, and on a busy machine a device that is well may
  /// respond late. ATT itself allows 30 s.
  static let probeTimeout = Duration.seconds(20)
  /// The time without audio after which a streaming device is probed.
  static let quiet = Duration.seconds(5)
  /// The time after which a muted device is probed again.
  static let probeInterval = Duration.seconds(15)
  /// The duration of a stream that resets the delays.
  static let stable = Duration.seconds(60)

  /// The number of attempts that failed since a stream was stable.
  private(set) var failures = 0
  private var phase = Phase.idle
  /// A Boolean value that indicates whether the device's address is known.
  private var isKnown = false
  private let random: @Sendable () -> Double

  /// Creates a machine that is idle.
  /// - Parameter random: A closure that returns a random number, 0…1, for the jitter of a delay.
  init(random: @escaping @Sendable () -> Double = { .random(in: 0...1) }) { self.random = random }

  /// The state of the connection.
  var state: State {
    switch phase {
    case .idle: .idle
    case .searching: .searching
    case .connecting: .connecting
    case .subscribing: .subscribing
    case .streaming: .streaming
    case .muted: .muted
    case .waiting: .waiting
    }
  }

  /// Accepts an event, and returns the actions to perform: none or one.
  mutating func handle(_ event: Event, at now: Duration) -> [Action] {
    switch (phase, event) {
    case (.idle, .start(let isKnown)):
      self.isKnown = isKnown
      return [attempt()]
    case (.searching, .found):
      isKnown = true
      return [attempt()]
    case (.connecting, .connected):
      phase = .subscribing
      return [.subscribe(timeout: Self.subscribeTimeout)]
    case (.subscribing, .subscribed):
      phase = .streaming(since: now, lastSign: now)
      return [.stream]
    case (.streaming(let since, _), .arrived):
      phase = .streaming(since: since, lastSign: now)
      if now - since >= Self.stable { failures = 0 }
    case (.muted, .arrived): phase = .streaming(since: now, lastSign: now)
    case (.streaming(_, let lastSign), .passed) where now - lastSign >= Self.quiet,
      (.muted(let lastSign), .passed) where now - lastSign >= Self.probeInterval:
      return [.probe]
    case (.streaming(let since, let lastSign), .probed(true)):
      // Audio may have arrived during the probe.
      phase = now - lastSign >= Self.quiet ? .muted(lastSign: now) : .streaming(since: since, lastSign: now)
    case (.muted, .probed(true)): phase = .muted(lastSign: now)
    // Audio that arrived during the probe is a response, too.
    case (.streaming(_, let lastSign), .probed(false)) where now - lastSign < Self.quiet: break
    case (.streaming, .probed(false)), (.muted, .probed(false)): return [wait()]
    case (.idle, _), (.waiting, .failed): break
    case (_, .failed): return [wait()]
    case (.waiting, .waited): return [attempt()]
    default: break
    }
    return []
  }

  private mutating func attempt() -> Action {
    phase = isKnown ? .connecting : .searching
    return isKnown ? .connect(timeout: Self.connectTimeout) : .search(timeout: Self.searchTimeout)
  }

  private mutating func wait() -> Action {
    let delay = Self.delays[min(failures, Self.delays.count - 1)]
    failures += 1
    phase = .waiting
    return .wait(delay + delay * ((random() * 2 - 1) / 5))
  }
}
