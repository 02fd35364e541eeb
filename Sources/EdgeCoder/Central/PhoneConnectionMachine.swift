/// The state of the connection to a phone; the raw values appear in `GET /status`.
public enum PhoneConnectionState: String, Sendable, Hashable, CaseIterable {
  /// The phone was found, and no attempt has been made.
  case discovered
  /// The central is connecting and discovering the service.
  case connecting
  /// The central is connected and subscribing to replies and status.
  case subscribing
  /// The central is subscribed, and the phone accepts prompts.
  case ready
  /// The connection was lost or failed, and the central waits before the next attempt.
  case waiting
  /// The central has given the phone up.
  case stopped
}

/// The state machine of the connection to one phone: connect, subscribe, serve, and retry after a failure.
///
/// The actions are performed in order. The last one leads to the next event if it takes time.
struct PhoneConnectionMachine: Sendable {
  enum Event: Equatable {
    case start
    case connected
    case subscribed
    /// Connecting, subscribing or serving failed.
    case failed(PhoneConnectionFailure)
    case retry
    /// The connection is not needed any more.
    case stop(PhoneConnectionFailure)
  }

  enum Action: Equatable {
    case connect
    case subscribe
    case serve
    case failPending(PhoneConnectionFailure)
    case disconnect
    case wait(Duration)
  }

  private enum State {
    case discovered
    case connecting(PhoneConnectionFailure?)
    case subscribing(PhoneConnectionFailure?)
    case ready(since: Duration)
    case waiting(PhoneConnectionFailure)
    case stopped(PhoneConnectionFailure)
  }

  let configuration: CentralConfiguration.Reconnection
  /// The number of failures since the connection was last ready for long enough.
  private(set) var failures = 0
  private var current = State.discovered

  init(_ configuration: CentralConfiguration.Reconnection) { self.configuration = configuration }

  var state: PhoneConnectionState {
    switch current {
    case .discovered: .discovered
    case .connecting: .connecting
    case .subscribing: .subscribing
    case .ready: .ready
    case .waiting: .waiting
    case .stopped: .stopped
    }
  }

  /// The last failure, until the connection is ready again.
  var failure: PhoneConnectionFailure? {
    switch current {
    case .discovered, .ready: nil
    case .connecting(let failure), .subscribing(let failure): failure
    case .waiting(let failure), .stopped(let failure): failure
    }
  }

  /// - Parameter random: The place within the jitter of the delay, 0 to 1.
  mutating func handle(_ event: Event, at now: Duration, random: Double) -> [Action] {
    switch (current, event) {
    case (.stopped, _):
      return []
    case (_, .stop(let failure)):
      return stop(failure)
    case (.discovered, .start), (.waiting, .retry):
      current = .connecting(failure)
      return [.connect]
    case (.connecting(let failure), .connected):
      current = .subscribing(failure)
      return [.subscribe]
    case (.subscribing, .subscribed):
      current = .ready(since: now)
      return [.serve]
    case (.connecting, .failed(let failure)):
      return fail(failure, disconnecting: false, random: random)
    case (.subscribing, .failed(let failure)):
      return fail(failure, disconnecting: true, random: random)
    case (.ready(let since), .failed(let failure)):
      if now - since >= configuration.stableAfter { failures = 0 }
      return fail(failure, disconnecting: true, random: random)
    default:
      return []
    }
  }

  private mutating func fail(_ failure: PhoneConnectionFailure, disconnecting: Bool, random: Double) -> [Action] {
    failures += 1
    guard failures < configuration.attemptLimit else { return stop(failure) }
    current = .waiting(failure)
    let end: [Action] = disconnecting ? [.failPending(failure), .disconnect] : []
    return end + [.wait(configuration.backoff.delay(afterFailures: failures, random: random))]
  }

  private mutating func stop(_ failure: PhoneConnectionFailure) -> [Action] {
    current = .stopped(failure)
    return [.failPending(failure), .disconnect]
  }
}
