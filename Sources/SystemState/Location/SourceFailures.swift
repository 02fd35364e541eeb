internal import Logging
internal import Streams

/// The failures of a source of locations since it was last there: each reason is published once, and the attempts to reach
/// it become rarer.
struct SourceFailures {
  private let source: String
  private let options: LocationMonitor.Options
  private let feed: UpdateFeed<LocationUpdate>
  private var count = 0
  private var reason: String?

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
  /// - Returns: The time until the next attempt.
  mutating func add(_ text: String) -> Duration {
    count += 1
    if reason != text {
      reason = text
      feed.publish(.unavailable("\(source): \(text)"))
      options.logger.debug(
        "a source of locations is not there", metadata: ["source": "\(source)", "reason": "\(text)"])
    }
    return options.backoff.delay(afterFailures: count, random: .random(in: 0...1))
  }
}
