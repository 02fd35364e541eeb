public import DBus
import Glibc
public import Logging

extension PowerMonitor {
  /// How to watch.
  public struct Options: Sendable {
    /// Where UPower and power-profiles-daemon are asked, if they run; `nil` for not at all.
    public var bus: Connection.Bus? = .system
    /// The kernel's folder of power supplies.
    public var supplyFolder = "/sys/class/power_supply"
    /// How often all is asked anew: 100 ms to 1 h, 10 s by default.
    ///
    /// The daemons also tell of changes at once. The kernel's files are only read: without UPower a plug is noticed
    /// after this time at the latest.
    public var interval: Duration = .seconds(10)
    /// Whether power is to be saved, where no power-profiles-daemon knows.
    public var lowPowerMode = false
    /// Gets what nobody can be told, such as why a daemon did not answer.
    public var logger = Logger(label: "edgeblue.power")

    /// Milliseconds since 1970, or a test's own.
    var wallClock: @Sendable () -> Int64 = {
      var now = timespec()
      clock_gettime(CLOCK_REALTIME, &now)
      return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    /// The defaults.
    public init() {}

    func check() throws(PowerError) {
      guard (Duration.milliseconds(100) ... .seconds(3600)).contains(interval) else {
        throw PowerError(.invalidArgument, "the interval is 100 ms to 1 h")
      }
    }
  }
}
