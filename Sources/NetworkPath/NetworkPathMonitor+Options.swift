public import DBus
public import Logging

extension NetworkPathMonitor {
  /// How to watch.
  public struct Options: Sendable {
    /// How long the path must have been worse, or other than it was, before that is told: 0 to 1 h, 150 ms by default.
    public var settleDown: Duration = .milliseconds(150)
    /// How long there must have been a way out again before that is told: 0 to 1 h, 500 ms by default.
    public var settleUp: Duration = .milliseconds(500)
    /// Where NetworkManager is asked what traffic costs, if it runs; `nil` for not at all.
    public var networkManagerBus: Connection.Bus? = .system
    /// Asks something out there whether it can be reached; `nil`, the default, for nobody.
    ///
    /// What it finds becomes part of the snapshot and of its status: an answer of a portal makes that
    /// ``PathSnapshot/Status/requiresConnection``, no answer ``PathSnapshot/Status/unsatisfied``.
    public var probe: (any ReachabilityProbe)?
    /// How long after an answer of the probe it is asked again, though the path is the same: 1 s or more, 5 min by
    /// default.
    public var probeInterval: Duration = .seconds(300)
    /// How long the probe may take: more than 0, 5 s by default.
    public var probeTimeout: Duration = .seconds(5)
    /// Gets what nobody can be told: that the kernel's tables could not be read, or why a probe failed.
    public var logger = Logger(label: "edgeblue.network-path")

    /// The usual file of name servers, or a test's own.
    var resolverFile = "/etc/resolv.conf"
    /// The usual folder of network devices, or a test's own.
    var deviceFolder = "/sys/class/net"
    /// How many bytes of events the kernel keeps, or its default.
    var receiveBuffer: Int32?

    /// The defaults.
    public init() {}

    func check() throws(NetworkPathError) {
      let settleTimes = Duration.zero ... .seconds(3600)
      guard settleTimes.contains(settleDown), settleTimes.contains(settleUp) else {
        throw NetworkPathError(.invalidArgument, "a settle time is 0 to 1 h")
      }
      guard probeInterval >= .seconds(1), probeTimeout > .zero else {
        throw NetworkPathError(.invalidArgument, "a probe's interval is 1 s or more, and its timeout more than 0")
      }
    }
  }
}
