import DBus
import FoundationEssentials
import Glibc

/// A moment between two starts of the machine, by the clock that nobody sets and that goes on while it sleeps.
package struct BootInstant: Sendable, Hashable, Codable {
  /// Tells one start of the machine from the next.
  package var boot: String
  /// Milliseconds since it.
  package var atMs: Int64

  package init(boot: String, atMs: Int64) { (self.boot, self.atMs) = (boot, atMs) }

  /// Now.
  package static let system: @Sendable () -> BootInstant = {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return BootInstant(boot: bootID, atMs: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  /// Without one, each start of the program counts as one of the machine.
  private static let bootID: String = {
    let file = try? String(contentsOf: URL(filePath: "/proc/sys/kernel/random/boot_id"), encoding: .utf8)
    return file ?? "\(UInt64.random(in: 0...(.max)))"
  }()
}

/// One moment by all clocks there are.
struct ClockReading: Sendable {
  /// The agent's own clock.
  var now: Duration
  /// The wall clock: milliseconds since 1970, and whatever somebody sets it to.
  var wallMs: Int64
  /// The clock since the machine was started.
  var boot: BootInstant
}
