internal import Timing

/// The outcome of a ping.
public struct PingResult: Sendable, Hashable {
  /// The instant at which the ping was due, by the clock of the run; its completion is later.
  public var at: Duration
  /// The time from the request to its reply; `nil` if none came within a second, or the request could not be sent.
  public var roundTrip: Duration?

  /// Creates the outcome of a ping.
  public init(at: Duration, roundTrip: Duration?) {
    self.at = at
    self.roundTrip = roundTrip
  }

  /// The round trip in milliseconds; `nil` without a reply.
  public var milliseconds: Double? { roundTrip.map { $0.inSeconds * 1000 } }
}

/// The mean of the pings of the last whole second, from sums alone.
struct LatestPings: Sendable, Hashable {
  private struct Interval: Hashable {
    var number: Int64
    var sum = 0.0
    var count = 0

    var mean: Double? { count > 0 ? sum / Double(count) : nil }

    init(number: Int64) { self.number = number }

    mutating func add(_ ping: PingResult) {
      guard let milliseconds = ping.milliseconds else { return }
      sum += milliseconds
      count += 1
    }
  }

  /// A label for a display.
  enum Label: Hashable {
    /// No ping was completed yet.
    case notAvailable
    /// The first second is not over, or no ping of the last one had a reply.
    case pending
    /// The mean of the last whole second, in milliseconds.
    case mean(Double)
  }

  private let start: Duration
  private var current: Interval?
  private var last: Interval?

  private static let length = Duration.seconds(1)

  init(start: Duration) { self.start = start }

  private func number(of instant: Duration) -> Int64 { Int64((instant - start).whole(Self.length)) }

  mutating func add(_ ping: PingResult) {
    let number = number(of: ping.at)
    if let one = current, number == one.number {
      current?.add(ping)
    } else if let one = last, number == one.number {
      // A late reply to a ping of the second before.
      last?.add(ping)
    } else if current.map({ number > $0.number }) ?? true {
      last = current
      current = Interval(number: number)
      current?.add(ping)
    }
  }

  /// Returns the label at an instant.
  func label(at now: Duration) -> Label {
    guard let current else { return .notAvailable }
    let wanted = number(of: now) - 1
    let interval = [current, last].compactMap { $0 }.first { $0.number <= wanted }
    return interval?.mean.map { .mean($0) } ?? .pending
  }
}
