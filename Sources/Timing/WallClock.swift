import Glibc

/// The machine's wall clock, for what a user or a server sees; anybody may set it.
///
/// ```swift
/// let stamp = WallClock.unixMilliseconds()
/// ```
public enum WallClock {
  /// Returns the milliseconds since 1970-01-01 00:00 UTC (`CLOCK_REALTIME`), rounded down.
  public static let unixMilliseconds: @Sendable () -> Int64 = {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
