import FoundationEssentials
import Glibc

/// An instant between two boots of the machine, by the clock that nobody sets and that goes on during suspend.
///
/// Unlike an instant of ``TimeSource`` it has a meaning for another process and after a restart of the program: two
/// instants with the same ``boot`` can be subtracted.
package struct BootInstant: Sendable, Hashable, Codable {
  /// The identifier of the boot, different after each.
  package var boot: String
  /// The milliseconds since that boot.
  package var atMs: Int64

  /// Creates an instant from its parts.
  package init(boot: String, atMs: Int64) {
    self.boot = boot
    self.atMs = atMs
  }

  /// Returns the present instant (`CLOCK_BOOTTIME`).
  package static let system: @Sendable () -> BootInstant = {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return BootInstant(boot: bootID, atMs: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  /// The kernel's identifier; without one, each start of the program counts as a boot.
  private static let bootID: String = {
    let file = try? String(contentsOf: URL(filePath: "/proc/sys/kernel/random/boot_id"), encoding: .utf8)
    return file ?? "\(UInt64.random(in: 0...(.max)))"
  }()
}
