/// When to try, to wait and to give up: the policy of one connection.
///
/// A value type without clock, randomness or I/O. Each event leads to one action, and the end of what it does to the
/// next event.
struct ConnectMachine: Sendable {
  /// What an attempt was about when it failed.
  enum Step: Sendable, Hashable {
    case search, link, services
  }

  enum Event: Sendable, Hashable {
    case start
    case connected
    case failed(Step, BlueZError)
    /// The link is there no more.
    case lost(BlueZError)
    /// A pause, or the wait for the adapter, is over.
    case due
  }

  enum Action: Sendable, Hashable {
    case attempt
    /// What bluetoothd has of the device may be wrong: an attempt that begins by forgetting it.
    case attemptAfresh
    case pause(Duration)
    /// bluetoothd or the adapter is away.
    case waitForAdapter
    case watch
    case finish(BlueZError)
  }

  /// A link that held so long was a good one: what comes after it is a first failure again.
  static let stableAfter = Duration.seconds(10)

  private let options: ConnectOptions
  /// Failures in a row.
  private(set) var failures = 0
  private var triedAfresh = false
  private var connectedAt: Duration?
  /// Whether the adapter was waited for just now: when it fails all the same, a pause comes before the next wait.
  private var waited = false

  init(_ options: ConnectOptions) { self.options = options }

  /// - Parameters:
  ///   - now: by any clock that does not go back.
  ///   - random: −1…1, for the pause's jitter, so that two who lost each other do not keep missing each other.
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
        triedAfresh = false
      }
      connectedAt = nil
      guard case .keepConnected = options else { return .finish(error) }
      return after(error, random)
    case .failed(.services, let error) where !triedAfresh && Self.mayBeTheCache(error):
      triedAfresh = true
      return .attemptAfresh
    case .failed(_, let error):
      return after(error, random)
    }
  }

  private mutating func after(_ error: BlueZError, _ random: Double) -> Action {
    switch options {
    case .direct(_, let attempts, let backoff):
      failures += 1
      guard failures < attempts, Self.mayPass(error) else { return .finish(error) }
      return .pause(Self.pause(backoff, failures, random))
    case .keepConnected(_, let backoff, let longest):
      // No failure of the device's: it is tried again the moment that there is an adapter to try with.
      waited = Self.isTheAdapters(error) && !waited
      if waited { return .waitForAdapter }
      failures += 1
      return .pause(min(Self.pause(backoff, failures, random), longest))
    }
  }

  /// Services that are not all there, or never come.
  private static func mayBeTheCache(_ error: BlueZError) -> Bool {
    [.timedOut, .notSupported].contains(error.code)
  }

  private static func mayPass(_ error: BlueZError) -> Bool {
    [.connectFailed, .timedOut, .inProgress, .notConnected, .deviceNotFound].contains(error.code)
  }

  private static func isTheAdapters(_ error: BlueZError) -> Bool {
    [.serviceUnavailable, .noAdapter, .notPowered].contains(error.code)
  }

  /// Doubled with each failure, give or take an eighth.
  private static func pause(_ backoff: Duration, _ failures: Int, _ random: Double) -> Duration {
    backoff * (1 << min(failures - 1, 16)) * (1 + random / 8)
  }
}
