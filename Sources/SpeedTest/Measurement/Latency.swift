/// A round trip as both ends measured it.
public struct PingSample: Sendable, Hashable {
  /// The nanoseconds from the client's PING to the server's PONG, by the client's clock.
  public var client: UInt64
  /// The nanoseconds from the server's PONG to the client's confirmation, by the server's clock.
  public var server: UInt64

  /// Creates a sample from the times of both ends, in nanoseconds.
  public init(client: UInt64, server: UInt64) {
    self.client = client
    self.server = server
  }
}

/// The statistics of round trips, computed from all samples.
///
/// Times are nanoseconds by the server's clock, as RMBT clients display them, except ``shortest``.
public struct Latency: Sendable, Hashable {
  /// The number of round trips.
  public var count: Int
  /// The middle of all times; of an even number the mean of the two middle ones.
  public var median: Double
  /// The time that 10 % of the round trips do not exceed.
  public var p10: Double
  /// The time that 90 % of the round trips do not exceed.
  public var p90: Double
  /// The shortest time that either end measured.
  public var shortest: UInt64
  /// The mean difference between two consecutive times.
  public var jitter: Double

  /// Computes the statistics; returns `nil` without samples.
  public init?(_ pings: [PingSample]) {
    guard !pings.isEmpty else { return nil }
    let times = pings.map { Double($0.server) }
    let sorted = times.sorted()
    count = pings.count
    median = Self.quantile(0.5, of: sorted)
    p10 = Self.quantile(0.1, of: sorted)
    p90 = Self.quantile(0.9, of: sorted)
    shortest = pings.reduce(.max) { min($0, $1.client, $1.server) }
    let differences = zip(times, times.dropFirst()).map { abs($0 - $1) }
    jitter = differences.isEmpty ? 0 : differences.reduce(0, +) / Double(differences.count)
  }

  /// The quantile of sorted values, interpolated between its neighbours.
  private static func quantile(_ part: Double, of sorted: [Double]) -> Double {
    let place = part * Double(sorted.count - 1)
    let lower = sorted[Int(place)]
    let upper = sorted[min(Int(place) + 1, sorted.count - 1)]
    return lower + (place - place.rounded(.down)) * (upper - lower)
  }
}
