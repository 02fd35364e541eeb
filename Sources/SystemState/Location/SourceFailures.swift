internal import Logging
internal import Streams

/// The failures of a source of locations since it was last there: each reason is published once, and the attempts to reach
/// it become rarer.
struct SourceFailures {
  private let source: String
  private let options: LocationMonitor.Options
  private let feed: UpdateFeed<LocationUpdate>
  private var count = 0
  private var reason: LocationError?

  init(of source: String, _ options: LocationMonitor.Options, _ feed: UpdateFeed<LocationUpdate>) {
    self.source = source
    self.options = options
    self.feed = feed
  }

  /// Notes that the source is there.
  mutating func end() {
    count = 0
    reason = nil
  }

  /// Notes a failure.
  /// - Parameter error: The failure, whose message does not name the source.
  /// - Returns: The time until the next attempt.
  mutating func add(_ error: LocationError) -> Duration {
    count += 1
    if reason != error {
      reason = error
      var named = error
      named.message = "\(source): \(error.message)"
      feed.publish(.unavailable(named))
      options.logger.debug(
        "a source of locations is not there", metadata: ["source": "\(source)", "reason": "\(error)"])
    }
    return options.backoff.delay(afterFailures: count, random: .random(in: 0...1))
  }
}
