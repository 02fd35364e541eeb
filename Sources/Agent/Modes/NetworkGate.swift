/// The delays before the loss of the network changes the mode.
public struct NetworkDelays: Sendable, Hashable {
  /// The duration that a loss must last, 0 s to 1 h; 5 s by default.
  public var settle: Duration = .seconds(5)
  /// The duration after the start of the agent in which no loss counts: 1 min by default. At boot the network comes late.
  public var afterStart: Duration = .seconds(60)
  /// The duration after a sleep of the host in which no loss counts: 30 s by default.
  public var afterSleep: Duration = .seconds(30)

  /// Creates delays with their default values.
  public init() {}

  /// No delays: each loss counts at once.
  static var none: NetworkDelays {
    var delays = NetworkDelays()
    (delays.settle, delays.afterStart, delays.afterSleep) = (.zero, .zero, .zero)
    return delays
  }
}

/// The state machine that decides which changes of the network the mode follows.
///
/// A network that is not up yet at boot, a sleep of the host, or an interruption of a moment is no loss.
struct NetworkGate: Sendable, Hashable {
  /// The events that the state machine accepts.
  enum Event: Sendable, Hashable {
    /// The agent has started.
    case start
    /// The host has a default route.
    case found
    /// The host has no default route, for this reason.
    case lost(because: String)
    /// The host is about to sleep.
    case sleep
    /// The host is awake.
    case wake
    /// The instant ``NetworkGate/wakeAt`` has passed.
    case tick
  }

  /// The actions that the state machine's owner performs.
  enum Action: Sendable, Hashable {
    /// The mode follows: there is a default route.
    case found
    /// The mode follows: there is none, for this reason.
    case lost(because: String)
  }

  /// The states of the network, as far as the mode knows them.
  private enum State: Sendable, Hashable {
    case unknown
    case found
    /// The network was lost at this instant, and the mode does not know it yet.
    case pending(because: String, since: Duration)
    case lost(because: String)
  }

  /// A tick that comes so late shows that the process did not run, as in a sleep that nobody announced: 10 s.
  private static let latestTick: Duration = .seconds(10)

  private let delays: NetworkDelays
  private var state = State.unknown
  private var isAsleep = false
  /// The instant before which no loss counts.
  private var frozenUntil: Duration = .zero

  /// Creates a state machine that knows nothing of the network yet.
  init(_ delays: NetworkDelays) { self.delays = delays }

  /// The instant at which a loss counts, or `nil` if there is none, or none counts while the host is about to sleep.
  var wakeAt: Duration? {
    guard case .pending(_, let since) = state, !isAsleep else { return nil }
    return max(since + delays.settle, frozenUntil)
  }

  /// Handles an event.
  /// - Returns: The actions to perform, in this order.
  mutating func handle(_ event: Event, at now: Duration) -> [Action] {
    switch event {
    case .start: frozenUntil = max(frozenUntil, now + delays.afterStart)
    case .found:
      if state == .found { return [] }
      state = .found
      return [.found]
    case .lost(let reason):
      switch state {
      case .unknown, .found: state = .pending(because: reason, since: now)
      case .pending(_, let since): state = .pending(because: reason, since: since)
      case .lost(let before):
        state = .lost(because: reason)
        return before == reason ? [] : [.lost(because: reason)]
      }
    case .sleep: isAsleep = true
    case .wake:
      if isAsleep { frozenUntil = max(frozenUntil, now + delays.afterSleep) }
      isAsleep = false
    case .tick:
      if let wakeAt, now - wakeAt > Self.latestTick { frozenUntil = now + delays.afterSleep }
    }
    guard let wakeAt, wakeAt <= now, case .pending(let reason, _) = state else { return [] }
    state = .lost(because: reason)
    return [.lost(because: reason)]
  }
}
