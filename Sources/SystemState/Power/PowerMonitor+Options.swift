public import DBus
public import Logging
internal import Streams
internal import Timing

extension PowerMonitor {
  /// The settings of a power monitor.
  ///
  /// ```swift
  /// var options = PowerMonitor.Options()
  /// options.interval = .seconds(10)
  /// let monitor = try await PowerMonitor.start(options)
  /// ```
  public struct Options: Sendable {
    /// The bus of UPower and power-profiles-daemon; `nil` to read only the kernel's files.
    public var bus: Connection.Bus? = .system
    /// The kernel's folder of power supplies, which tests replace.
    public var supplyFolder = "/sys/class/power_supply"
    /// The longest time between two readings of the kernel's files: 100 ms to 1 h. A reading comes earlier, after a third
    /// of it or more, together with something else that wakes the program.
    ///
    /// Default: 60 s. The daemons report changes at once, and are read anew after 5 min. Without UPower the kernel
    /// reports a plug at once, but none to a container, and many drivers report no level: these are noticed after this
    /// time at the latest.
    public var interval: Duration = .seconds(60)
    /// The low power mode on a host without power-profiles-daemon.
    public var lowPowerMode = false
    /// The logger for errors that cannot be returned, such as a daemon that does not reply.
    public var logger = Logger(label: "edgeblue.power")

    /// The wall clock in milliseconds since 1970; a test has its own.
    var wallClock: @Sendable () -> Int64 = WallClock.unixMilliseconds
    /// The socket of the kernel's events; that of a test is in a namespace of its own.
    var openEvents: @Sendable () throws(SystemCallError) -> FileDescriptor = SupplyEvents.open

    /// Creates options with the default values.
    public init() {}

    func check() throws(PowerError) {
      guard (Duration.milliseconds(100) ... .seconds(3600)).contains(interval) else {
        throw PowerError(.invalidArgument, "interval is \(interval); allowed: 100 ms to 1 h")
      }
    }
  }
}
