/// Whether and how this machine can reach others, at one moment: all of it, never a part.
public struct PathSnapshot: Sendable, Hashable {
  /// Whether there is a way out.
  public enum Status: String, Sendable, Hashable, CaseIterable {
    /// There is: a default route through an interface that is up and has an address.
    case satisfied
    /// There is none.
    case unsatisfied
    /// There is none now, but there may be when something connects: a modem that has to dial, an interface that waits
    /// to be admitted, a portal at which a person has to sign in.
    case requiresConnection
  }

  /// A next hop of a default route.
  public struct Gateway: Sendable, Hashable {
    /// Its address; `nil` on an interface that needs none, such as a tunnel.
    public var address: IPAddress?
    /// Which protocol the route is for; not always that of `address`.
    public var family: IPAddress.Family
    /// The name of the interface it is reached through.
    public var interface: String

    /// Makes a gateway, for tests of what uses one.
    public init(address: IPAddress?, family: IPAddress.Family, interface: String) {
      self.address = address
      self.family = family
      self.interface = interface
    }
  }

  /// Where ``isExpensive`` and ``isConstrained`` come from.
  public enum HintSource: String, Sendable, Hashable {
    /// NetworkManager's property `Metered`.
    case networkManager
    /// A guess from the kind of the preferred interface.
    case interfaceKind
  }

  /// Whether there is a way out.
  public var status: Status
  /// Why there is none; `nil` when ``status`` is satisfied.
  public var obstacle: PathObstacle?
  /// All interfaces: first those with a usable default route, the preferred one foremost, then the rest by index.
  public var interfaces: [PathInterface]
  /// The next hops of the usable default routes, the preferred one first. A route is preferred for its lower metric;
  /// IPv4 goes before IPv6, whose metrics cannot be compared with its own.
  public var gateways: [Gateway]
  /// The name servers this machine asks.
  public var dnsServers: [IPAddress]
  /// Whether a probe has reached what it asks for; `nil` without a probe, or before it has answered.
  public var reachability: Reachability?
  /// A hint: whether traffic costs money.
  public var isExpensive: Bool
  /// A hint: whether traffic is to be spared, because somebody has said so or because the link is narrow.
  public var isConstrained: Bool
  /// Where the two hints come from.
  public var hintSource: HintSource

  /// Makes a snapshot, for tests of what uses one.
  public init(
    status: Status, obstacle: PathObstacle? = nil, interfaces: [PathInterface] = [], gateways: [Gateway] = [],
    dnsServers: [IPAddress] = [], reachability: Reachability? = nil, isExpensive: Bool = false,
    isConstrained: Bool = false, hintSource: HintSource = .interfaceKind
  ) {
    self.status = status
    self.obstacle = obstacle
    self.interfaces = interfaces
    self.gateways = gateways
    self.dnsServers = dnsServers
    self.reachability = reachability
    self.isExpensive = isExpensive
    self.isConstrained = isConstrained
    self.hintSource = hintSource
  }

  /// Whether IPv4 has a way out.
  public var supportsIPv4: Bool { gateways.contains { $0.family == .v4 } }

  /// Whether IPv6 has a way out.
  public var supportsIPv6: Bool { gateways.contains { $0.family == .v6 } }

  /// Whether it is known whom to ask for addresses.
  public var supportsDNS: Bool { !dnsServers.isEmpty }

  /// The interface that traffic takes when nothing else is said; `nil` without a way out.
  public var preferredInterface: PathInterface? {
    gateways.isEmpty ? nil : interfaces.first
  }

  /// Whether the way out goes first through an interface of this kind.
  public func uses(_ kind: PathInterface.Kind) -> Bool { preferredInterface?.kind == kind }
}
