internal import FoundationEssentials
internal import Glibc
internal import Timing

/// An instant as the machine's two clocks show it: the wall clock, which anybody may set, and the clock since boot.
///
/// Instants of one boot are compared by the clock since boot, which goes on during suspend and never jumps. Only across a
/// reboot does the wall clock count.
public struct LoopInstant: Sendable, Hashable, Codable {
  /// The milliseconds since 1970-01-01 00:00 UTC by the wall clock.
  public var wallMs: Int64
  /// The identifier of the boot, which differs after each one.
  public var boot: String
  /// The milliseconds since that boot, suspended time included.
  public var bootMs: Int64
  /// The seconds to add to UTC for the local time.
  public var utcOffset: Int

  /// Creates an instant from the readings of the clocks.
  public init(wallMs: Int64, boot: String, bootMs: Int64, utcOffset: Int = 0) {
    self.wallMs = wallMs
    self.boot = boot
    self.bootMs = bootMs
    self.utcOffset = utcOffset
  }

  /// Returns the present instant in the machine's time zone.
  public static let system: @Sendable () -> LoopInstant = {
    let boot = BootInstant.system()
    let wall = WallClock.unixMilliseconds()
    var seconds = time_t(wall / 1000)
    var parts = tm()
    localtime_r(&seconds, &parts)
    return LoopInstant(
      wallMs: wall, boot: boot.boot, bootMs: boot.atMs,
      utcOffset: parts.tm_gmtoff)
  }

  /// The milliseconds since the last local midnight.
  var msOfDay: Int64 {
    let day: Int64 = 86_400_000
    let local = (wallMs % day + Int64(utcOffset) * 1000) % day
    return (local + day) % day
  }
}

/// The time since an event that survives restarts and reboots.
///
/// Within one boot it is exact, whatever happens to the wall clock. After a reboot it is what the wall clock says, but
/// never less than the time that the machine is known to have run; from then on it is exact again.
struct LoopStopwatch: Sendable, Hashable, Codable {
  private(set) var startWallMs: Int64
  private(set) var boot: String
  /// The start by the clock of that boot; negative for a start in an earlier boot.
  private(set) var startBootMs: Int64
  /// The time at the last reading, which nothing takes back.
  private(set) var knownMs: Int64 = 0

  /// The longest time that a stopwatch shows: ten years.
  static let longest: Int64 = 10 * 366 * 86_400_000

  init(at now: LoopInstant) {
    startWallMs = now.wallMs
    boot = now.boot
    startBootMs = now.bootMs
  }

  /// Returns the milliseconds since the start.
  mutating func read(at now: LoopInstant) -> Int64 {
    if now.boot != boot {
      let byWall = now.wallMs.subtractingClamped(startWallMs)
      let ran = knownMs.addingClamped(max(now.bootMs, 0))
      boot = now.boot
      startBootMs = now.bootMs.subtractingClamped(min(max(byWall, ran, 0), Self.longest))
    }
    knownMs = min(max(knownMs, now.bootMs.subtractingClamped(startBootMs)), Self.longest)
    return knownMs
  }

  /// A Boolean value that indicates whether the parts can belong to a stopwatch, as they come from a file.
  var isPlausible: Bool {
    (0...Self.longest).contains(knownMs) && boot.utf8.count <= 64
  }

  /// Returns whether two stopwatches have the same start; the last readings do not count.
  func hasSameStart(as other: LoopStopwatch) -> Bool {
    startWallMs == other.startWallMs && boot == other.boot && startBootMs == other.startBootMs
  }
}
