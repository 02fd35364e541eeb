/// The first missing condition that makes a path unusable.
///
/// ```swift
/// let path = PathSnapshot(status: .unsatisfied, unsatisfiedReason: .noCarrier)
/// if let reason = path.unsatisfiedReason { print("offline:", reason) }
/// ```
public enum PathUnsatisfiedReason: Sendable, Hashable, CustomStringConvertible {
  /// The host has no interface except the loopback.
  case noInterface
  /// Every interface is administratively down.
  case interfacesDown
  /// No interface that is up has a carrier.
  case noCarrier
  /// The named interface must connect first: a modem that has not dialled, or a link that waits for authentication.
  case waiting(interface: String)
  /// No interface with a carrier has an address that is valid beyond its link.
  case noAddress
  /// No rule and no routing table of the kernel leads packets beyond the network.
  case noDefaultRoute
  /// A default route exists, but its interface is down or has no address, or the route rejects packets.
  case unusableDefaultRoute
  /// A captive portal replied to the probe: the user has to sign in.
  case portal
  /// The probe received no reply.
  case unreachable

  /// The reason for display, such as "there is no default route".
  public var description: String {
    switch self {
    case .noInterface: "there is no network interface"
    case .interfacesDown: "every network interface is switched off"
    case .noCarrier: "no network interface has a carrier (no cable, no radio network)"
    case .waiting(let interface): "\(interface) is not connected yet"
    case .noAddress: "no network interface has an address"
    case .noDefaultRoute: "there is no default route"
    case .unusableDefaultRoute: "the default route is unusable"
    case .portal: "a captive portal requires signing in"
    case .unreachable: "no server beyond this network replies"
    }
  }
}
