/// The throughput of one direction over all threads.
public struct Throughput: Sendable, Hashable {
  /// The nanoseconds from the start up to which all threads have samples; the rate covers this time.
  public var nanoseconds: UInt64
  /// The bytes of all threads in that time.
  public var bytes: Double

  /// The rate in bits per second.
  public var bitsPerSecond: Double { 8 * bytes / (Double(nanoseconds) / 1e9) }

  /// Computes the throughput from the samples of each thread, in ascending order of time.
  ///
  /// The time is that of the thread whose samples end first. The bytes of a thread at that time are interpolated
  /// between the two samples around it; every thread begins with 0 bytes at 0 ns. Threads without samples count as
  /// 0 bytes.
  ///
  /// ```swift
  /// let one = [ThroughputSample(nanoseconds: 1_000_000_000, bytes: 1000)]
  /// let two = [ThroughputSample(nanoseconds: 2_000_000_000, bytes: 3000)]
  /// print(Throughput(threads: [one, two])!.bitsPerSecond)  // 20000.0
  /// ```
  /// - Returns: `nil` when there is no sample after 0 ns.
  public init?(threads: [[ThroughputSample]]) {
    guard let end = threads.compactMap(\.last?.nanoseconds).min(), end > 0 else { return nil }
    nanoseconds = end
    bytes = threads.reduce(0) { $0 + Self.bytes(of: $1, at: end) }
  }

  private static func bytes(of samples: [ThroughputSample], at end: UInt64) -> Double {
    guard let index = samples.firstIndex(where: { $0.nanoseconds >= end }) else { return 0 }
    let after = samples[index]
    let before = index > 0 ? samples[index - 1] : ThroughputSample(nanoseconds: 0, bytes: 0)
    guard after.nanoseconds > before.nanoseconds else { return Double(after.bytes) }
    let part = Double(end - before.nanoseconds) / Double(after.nanoseconds - before.nanoseconds)
    return Double(before.bytes) + part * (Double(after.bytes) - Double(before.bytes))
  }
}
