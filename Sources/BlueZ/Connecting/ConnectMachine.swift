import Timing

/// The policy of one connection: when to attempt, to wait and to give up.
///
/// A value type without clock, randomness or I/O. Each event leads to exactly one action, whose outcome is the next
/// event.
struct ConnectMachine: Sendable {
  /// A phase of an attempt.
  enum Phase: Sendable, Hashable {
    case search, connection, services
  }

  enum Event: Sendable, Hashable {
    case start
    case connected
    case failed(Phase, BlueZError)
    /// The connection was lost.
    case lost(BlueZError)
    /// The delay, or the wait for the adapter, is over.
    case due
  }

  enum Action: Sendable, Hashable {
    case attempt
    /// Attempt a connection after bluetoothd has forgotten the device, because its cache of the device may be wrong.
    case attemptAfresh
    case delay(Duration)
    /// Wait for bluetoothd or the adapter.
    case waitForAdapter
    case watch
    case finish(BlueZError)
  }

  /// A connection that lasted this long was stable: the next failure counts as the first one.
  static let stableAfter = Duration.seconds(10)

  private let options: ConnectOptions
  private let backoff: Backoff
  /// The number of failures in a row.
  private(set) var failures = 0
  private var attemptedAfresh = false
  private var connectedAt: Duration?
  /// A Boolean value that indicates whether the last delay was a wait for the adapter: if that did not help, a back-off
  /// delay comes before the next wait.
  private var waitedForAdapter = false

  init(_ options: ConnectOptions) {
    self.options = options
    let base =
      switch options {
      case .direct(_, _, let backoff), .keepConnected(_, let backoff, _): backoff
      }
    // The longest delay of a kept connection applies after the jitter, so that it is never exceeded.
    backoff = Backoff(base: base, limit: base * (1 << 16), jitter: 7.0 / 8...9.0 / 8)
  }

  /// Returns the action that follows an event.
  /// - Parameters:
  ///   - now: The present instant of any clock that does not go back.
  ///   - random: The place within the jitter of ±1/8, 0 to 1, so that two peers that lost each other do not keep
  ///     missing each other.
  mutating func handle(_ event: Event, at now: Duration, random: Double) -> Action {
    switch event {
    case .start, .due:
      return .attempt
    case .connected:
      connectedAt = now
      return .watch
    case .lost(let error):
      if let connectedAt, now - connectedAt >= Self.stableAfter {
        failures = 0
        attemptedAfresh = false
      }
      connectedAt = nil
      guard case .keepConnected = options else { return .finish(error) }
      return afterFailure(error, random)
    case .failed(.services, let error) where !attemptedAfresh && Self.mayBeTheCache(error):
      attemptedAfresh = true
      return .attemptAfresh
    case .failed(_, let error):
      return afterFailure(error, random)
    }
  }

  private mutating func afterFailure(_ error: BlueZError, _ random: Double) -> Action {
    switch options {
    case .direct(_, let attempts, _):
      failures += 1
      guard failures < attempts, Self.isTransient(error) else { return .finish(error) }
      return .delay(backoff.delay(afterFailures: failures, random: random))
    case .keepConnected(_, _, let longest):
      // The device did not fail: the next attempt starts as soon as there is an adapter for it.
      waitedForAdapter = Self.concernsTheAdapter(error) && !waitedForAdapter
      if waitedForAdapter { return .waitForAdapter }
      failures += 1
      return .delay(min(backoff.delay(afterFailures: failures, random: random), longest))
    }
  }

  /// Returns `true` for services that are incomplete, or never come.
  private static func mayBeTheCache(_ error: BlueZError) -> Bool {
    [.timedOut, .notSupported].contains(error.code)
  }

  private static func isTransient(_ error: BlueZError) -> Bool {
    [.connectFailed, .timedOut, .inProgress, .notConnected, .deviceNotFound].contains(error.code)
  }

  private static func concernsTheAdapter(_ error: BlueZError) -> Bool {
    [.serviceUnavailable, .noAdapter, .notPowered].contains(error.code)
  }
}
