public import Logging

extension NetworkPathMonitor {
  /// The settings of a network path monitor.
  ///
  /// ```swift
  /// var options = NetworkPathMonitor.Options()
  /// options.settleDown = .seconds(1)
  /// options.settleUp = .seconds(2)
  /// let monitor = try await NetworkPathMonitor.start(options)
  /// ```
  public struct Options: Sendable {
    /// The time that a loss, or a change to another route, must last before it is published: 0 s to 1 h.
    ///
    /// Default: 150 ms.
    public var settleDown: Duration = .milliseconds(150)
    /// The time that the path must be satisfied again before that is published: 0 s to 1 h.
    ///
    /// Default: 500 ms.
    public var settleUp: Duration = .milliseconds(500)
    /// The source of estimates of the cost of traffic; `nil`, the default, for a guess from the kind of interface.
    ///
    /// ``NetworkPathMonitor/start(_:)`` waits for its first estimate for at most ``meteredTimeout``.
    public var meteredSource: (any MeteredSource)?
    /// The longest time that the start waits for the first estimate of ``meteredSource``: 0 s to 1 min.
    ///
    /// Default: 1 s. An estimate that comes later is an update.
    public var meteredTimeout: Duration = .seconds(1)
    /// The probe that checks whether a server can be reached; `nil`, the default, for none.
    ///
    /// Its result becomes part of the snapshot and of its status: a captive portal makes that
    /// ``PathSnapshot/Status/requiresConnection``, a missing reply ``PathSnapshot/Status/unsatisfied``.
    public var probe: (any ReachabilityProbe)?
    /// The interval between two probes of an unchanged path: 1 s or more.
    ///
    /// Default: 5 min.
    public var probeInterval: Duration = .seconds(300)
    /// The timeout of one probe: more than 0 s.
    ///
    /// Default: 5 s.
    public var probeTimeout: Duration = .seconds(5)
    /// The logger for errors that cannot be returned, such as an unreadable routing table or a failed probe.
    public var logger = Logger(label: "edgeblue.network-path")

    /// The file of name servers; a test has its own.
    var resolverFile = "/etc/resolv.conf"
    /// The folder of network devices; a test has its own.
    var deviceFolder = "/sys/class/net"
    /// The bytes of events that the kernel buffers; `nil` for its default.
    var receiveBuffer: Int32?

    /// Creates options with the default values.
    public init() {}

    func check() throws(NetworkPathError) {
      let settleTimes = Duration.zero ... .seconds(3600)
      for (name, value) in [("settleDown", settleDown), ("settleUp", settleUp)] where !settleTimes.contains(value) {
        throw NetworkPathError(.invalidArgument, "\(name) is \(value); allowed: 0 s to 1 h")
      }
      guard (.zero ... .seconds(60)).contains(meteredTimeout) else {
        throw NetworkPathError(.invalidArgument, "meteredTimeout is \(meteredTimeout); allowed: 0 s to 1 min")
      }
      guard probeInterval >= .seconds(1) else {
        throw NetworkPathError(.invalidArgument, "probeInterval is \(probeInterval); allowed: 1 s or more")
      }
      guard probeTimeout > .zero else {
        throw NetworkPathError(.invalidArgument, "probeTimeout is \(probeTimeout); allowed: more than 0 s")
      }
    }
  }
}
