/// The complete state of the host's network at one instant: status, interfaces, routes and name servers.
///
/// ```swift
/// let path = try await NetworkPathMonitor.start().path
/// if path.status == .satisfied, !path.isExpensive {
///   print("online through", path.preferredInterface?.name ?? "?")
/// }
/// ```
public struct PathSnapshot: Sendable, Hashable {
  /// The usability of a network path.
  public enum Status: String, Sendable, Hashable, CaseIterable {
    /// A default route leads through an interface that is up and has an address.
    case satisfied
    /// No default route is usable.
    case unsatisfied
    /// No default route is usable until something connects.
    ///
    /// Examples are a modem that has to dial, an interface that waits for authentication, and a captive portal at which
    /// the user has to sign in.
    case requiresConnection
  }

  /// The next hop of a default route.
  public struct Gateway: Sendable, Hashable {
    /// The address of the gateway; `nil` on an interface that needs none, such as a tunnel.
    public var address: IPAddress?
    /// The address family of the route, which may differ from that of `address`.
    public var family: IPAddress.Family
    /// The name of the interface that leads to the gateway.
    public var interface: String

    /// Creates a gateway from its parts, for tests.
    public init(address: IPAddress?, family: IPAddress.Family, interface: String) {
      self.address = address
      self.family = family
      self.interface = interface
    }
  }

  /// The origin of ``isExpensive`` and ``isConstrained``.
  public enum HintSource: String, Sendable, Hashable {
    // The raw value is that of the only source in this package; programs read it.
    /// The estimate of the monitor's ``MeteredSource``, for example NetworkManager's property `Metered`.
    case meteredSource = "networkManager"
    /// A guess from the kind of the preferred interface.
    case interfaceKind
  }

  /// The usability of the path.
  public var status: Status
  /// The first missing condition; `nil` when ``status`` is satisfied.
  public var unsatisfiedReason: PathUnsatisfiedReason?
  /// All interfaces: first those with a usable default route, the preferred one foremost, then the rest by index.
  public var interfaces: [PathInterface]
  /// The next hops of the usable default routes, the preferred one first. A route is preferred for its lower metric;
  /// IPv4 goes before IPv6, whose metrics cannot be compared with its own.
  public var gateways: [Gateway]
  /// The name servers that the host's resolver queries.
  public var dnsServers: [IPAddress]
  /// The newest result of the probe; `nil` without a probe, and before its first result.
  public var reachability: Reachability?
  /// A hint that traffic may cost money, as with a metered connection.
  public var isExpensive: Bool
  /// A hint that traffic should be reduced, because the connection is declared metered or the link is slow.
  public var isConstrained: Bool
  /// The origin of the two hints.
  public var hintSource: HintSource

  /// Creates a snapshot, for tests; the other properties are set afterwards.
  public init(
    status: Status, unsatisfiedReason: PathUnsatisfiedReason? = nil, interfaces: [PathInterface] = [],
    gateways: [Gateway] = [], dnsServers: [IPAddress] = [], reachability: Reachability? = nil
  ) {
    self.status = status
    self.unsatisfiedReason = unsatisfiedReason
    self.interfaces = interfaces
    self.gateways = gateways
    self.dnsServers = dnsServers
    self.reachability = reachability
    isExpensive = false
    isConstrained = false
    hintSource = .interfaceKind
  }

  /// A Boolean value that indicates whether IPv4 has a usable default route.
  public var supportsIPv4: Bool { gateways.contains { $0.family == .v4 } }

  /// A Boolean value that indicates whether IPv6 has a usable default route.
  public var supportsIPv6: Bool { gateways.contains { $0.family == .v6 } }

  /// A Boolean value that indicates whether at least one name server is configured.
  public var supportsDNS: Bool { !dnsServers.isEmpty }

  /// The interface of the preferred default route; `nil` when no default route is usable.
  public var preferredInterface: PathInterface? {
    gateways.isEmpty ? nil : interfaces.first
  }

  /// Returns `true` if the preferred interface is of the given kind.
  public func uses(_ kind: PathInterface.Kind) -> Bool { preferredInterface?.kind == kind }
}
