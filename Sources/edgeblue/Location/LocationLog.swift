import SpeedTest
import Streams
import SystemState

/// The locations during a test, of a monitor that runs as long as the log is fed.
final class LocationLog: Sendable {
  private struct State {
    var newest: (fix: LocationFix, instant: ContinuousClock.Instant)?
    var start: ContinuousClock.Instant?
    var locations: [SpeedTestRecord.Location] = []
  }

  private let provider: String
  private let state = Lock(State())

  /// The largest number of locations of a test; later ones are left out.
  private static let limit = 200
  /// The age above which a location from before a test does not count.
  private static let longestAge = Duration.seconds(30)

  /// Creates a log.
  /// - Parameter provider: The kind of the source, as it is stored.
  init(provider: String) { self.provider = provider }

  /// Notes a location that was just delivered.
  func take(_ fix: LocationFix) {
    let now = ContinuousClock.now
    state.withLock { state in
      state.newest = (fix, now)
      add(fix, at: now, to: &state)
    }
  }

  /// Starts to collect, with the newest location from before.
  func begin() {
    let now = ContinuousClock.now
    state.withLock { state in
      state.start = now
      state.locations = []
      guard let (fix, instant) = state.newest, instant.duration(to: now) <= Self.longestAge else { return }
      add(fix, at: instant, to: &state)
    }
  }

  /// Ends the collection.
  /// - Returns: The locations since ``begin()``, the oldest first.
  func end() -> [SpeedTestRecord.Location] {
    state.withLock { state in
      defer { state.start = nil }
      return state.locations
    }
  }

  private func add(_ fix: LocationFix, at instant: ContinuousClock.Instant, to state: inout State) {
    guard let start = state.start, state.locations.count < Self.limit else { return }
    var location = SpeedTestRecord.Location(
      fix.place, provider: provider, nanoseconds: Self.nanoseconds(start.duration(to: instant)))
    location.error = fix.error
    location.altitude = fix.altitude
    location.speed = fix.speed
    location.course = fix.course
    state.locations.append(location)
  }

  private static func nanoseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}

/// The locations of a test that is no part of a loop, from a monitor of its own.
struct TestLocations: Sendable {
  private let monitor: LocationMonitor
  private let log: LocationLog
  private let reader: Task<Void, Never>

  /// Starts to collect.
  /// - Parameter source: The source of locations; `nil` for none, which makes the result `nil`.
  init?(_ source: LocationSettings?) throws {
    guard let source, let known = source.source else { return nil }
    let monitor = try LocationMonitor(known)
    let log = LocationLog(provider: source.kind.rawValue)
    log.begin()
    self.monitor = monitor
    self.log = log
    reader = Task {
      for await update in monitor.updates(limit: 64) { if case .fix(let fix) = update { log.take(fix) } }
    }
  }

  /// Ends the collection, and closes the monitor.
  func end() async -> [SpeedTestRecord.Location] {
    monitor.close()
    await reader.value
    return log.end()
  }
}
