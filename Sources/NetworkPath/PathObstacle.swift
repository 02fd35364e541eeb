/// Why there is no way out: the last thing that is missing.
public enum PathObstacle: Sendable, Hashable, CustomStringConvertible {
  /// There is no interface but the loopback.
  case noInterface
  /// Every interface is switched off.
  case interfacesDown
  /// No interface that is switched on has a link.
  case noCarrier
  /// The named interface has to connect first: a modem to dial, or a link that waits to be admitted.
  case waiting(interface: String)
  /// No interface with a link has an address that is good beyond it.
  case noAddress
  /// There is no default route.
  case noDefaultRoute
  /// There is a default route, but its interface is down or has no address, or the route refuses packets.
  case unusableDefaultRoute
  /// A portal answers in place of what the probe asks for: somebody has to sign in.
  case portal
  /// The probe gets no answer.
  case unreachable

  /// The obstacle in words, for a person.
  public var description: String {
    switch self {
    case .noInterface: "there is no network interface"
    case .interfacesDown: "every network interface is switched off"
    case .noCarrier: "no network interface has a link (no cable, no radio network)"
    case .waiting(let interface): "\(interface) is not connected yet"
    case .noAddress: "no network interface has an address"
    case .noDefaultRoute: "there is no default route"
    case .unusableDefaultRoute: "the default route cannot be used"
    case .portal: "a portal wants somebody to sign in"
    case .unreachable: "nothing answers beyond this network"
    }
  }
}
