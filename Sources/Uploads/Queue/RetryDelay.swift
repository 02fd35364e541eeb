/// How long to wait before what has failed is tried again: 2, 4, 8, 16 and then 30 seconds, for ever.
///
/// The steps are those of the design document for uploads; a quarter of each depends on chance, so that machines that
/// failed together do not come back together.
struct RetryDelay: Sendable, Hashable {
  static let base = Duration.seconds(2)
  static let limit = Duration.seconds(30)

  /// The delay after some failures.
  /// - Parameters:
  ///   - failures: in a row, 1 or more.
  ///   - random: 0 to 1.
  static func after(failures: Int, random: Double) -> Duration {
    let full = min(limit, base * (1 << min(max(failures - 1, 0), 8)))
    return full * (0.75 + 0.25 * min(max(random, 0), 1))
  }
}
