/// Where a link to a phone stands; raw values appear in `GET /status`.
public enum LinkState: String, Sendable, Hashable, CaseIterable {
  /// Seen, nothing tried yet.
  case discovered
  /// Connecting, and finding the service.
  case connecting
  /// Connected, subscribing to replies and status.
  case subscribing
  /// Both subscriptions are live: a prompt can be sent.
  case ready
  /// Waiting before the next attempt.
  case waiting
  /// Over.
  case stopped
}

/// The life of one link: connect, subscribe, serve, and after a failure wait and try again.
///
/// A value type without clock, randomness or I/O. The actions are to be performed in order; the last of them, if it is
/// one that takes time, leads to the next event.
struct LinkMachine: Sendable {
  enum Event: Equatable {
    case start
    case connected
    case subscribed
    /// Connecting, subscribing or serving came to an end; why, for a person.
    case failed(String)
    case retry
    /// The link is no longer wanted; why, for a person.
    case stop(String)
  }

  enum Action: Equatable {
    case connect
    case subscribe
    case serve
    case failPending(String)
    case disconnect
    case wait(Duration)
  }

  let backoff: Backoff
  let attemptLimit: Int
  let stableAfter: Duration
  private(set) var state = LinkState.discovered
  /// Failures since the link was last ready for long enough.
  private(set) var failures = 0
  /// Why the link failed last.
  private(set) var reason: String?
  private var readySince: Duration?

  init(_ configuration: CentralConfiguration) {
    backoff = configuration.backoff
    attemptLimit = configuration.attemptLimit
    stableAfter = configuration.stableAfter
  }

  /// - Parameter random: −1…1, for the pause's jitter.
  mutating func handle(_ event: Event, at now: Duration, random: Double) -> [Action] {
    switch (state, event) {
    case (.stopped, _):
      return []
    case (_, .stop(let reason)):
      return stop(reason)
    case (.discovered, .start), (.waiting, .retry):
      state = .connecting
      return [.connect]
    case (.connecting, .connected):
      state = .subscribing
      return [.subscribe]
    case (.subscribing, .subscribed):
      state = .ready
      readySince = now
      reason = nil
      return [.serve]
    case (.connecting, .failed(let reason)), (.subscribing, .failed(let reason)), (.ready, .failed(let reason)):
      return fail(reason, at: now, random: random)
    default:
      return []
    }
  }

  private mutating func fail(_ reason: String, at now: Duration, random: Double) -> [Action] {
    if let readySince, now - readySince >= stableAfter { failures = 0 }
    readySince = nil
    failures += 1
    guard failures < attemptLimit else { return stop(reason) }
    let hadConnection = state != .connecting
    self.reason = reason
    state = .waiting
    let end: [Action] = hadConnection ? [.failPending(reason), .disconnect] : []
    return end + [.wait(backoff.pause(afterFailures: failures, random: random))]
  }

  private mutating func stop(_ reason: String) -> [Action] {
    state = .stopped
    self.reason = reason
    return [.failPending(reason), .disconnect]
  }
}
