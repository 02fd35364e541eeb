/// A message of the kernel about its network, as far as a path depends on it.
enum RouteMessage: Equatable {
  case link(NetworkLink)
  case linkGone(index: Int32)
  case address(NetworkAddress)
  case addressGone(NetworkAddress)
  /// The next hops of one default route; `replaces` when they replace one with the same metric.
  case routes([DefaultRoute], replaces: Bool)
  case routesGone([DefaultRoute])
  /// A rule, a route of another table, or one for a large part of all addresses: the kernel may choose another way.
  case choiceMayChange
  /// The end of a dump; the kernel's error number if it was interrupted, else 0.
  case done(errno: Int32)
  /// The kernel refused the request; its error number.
  case refused(errno: Int32)
  /// A message that no path depends on, or a malformed one.
  case unrelated
}

/// A network interface as the routing socket describes it.
struct NetworkLink: Sendable, Hashable {
  var index: Int32
  var name = ""
  /// `IFF_…`.
  var flags: UInt32 = 0
  /// `IF_OPER_…` of <linux/if.h>, RFC 2863.
  var operationalState: UInt8 = 0
  /// `ARPHRD_…`.
  var hardware: UInt16 = 0
  /// The kind of a virtual interface, such as `veth` or `wireguard`; `nil` for a physical one.
  var virtualKind: String?
  var hardwareAddress: [UInt8] = []
  /// The facts from its driver, which the routing socket lacks.
  var device = DeviceFacts()
}

/// An address of an interface.
struct NetworkAddress: Sendable, Hashable {
  struct Key: Sendable, Hashable {
    var link: Int32
    var address: IPAddress
    var prefixLength: UInt8
  }

  var key: Key
  /// `RT_SCOPE_…`: the range in which the address is valid.
  var scope: UInt8
  /// `IFA_F_…`.
  var flags: UInt32
}

/// One next hop of a default route.
struct DefaultRoute: Sendable, Hashable {
  var family: IPAddress.Family
  /// The lowest is preferred; 0 when the kernel reports none.
  var metric: UInt32 = 0
  /// The index of the interface; 0 without one, as for a route that rejects packets.
  var link: Int32 = 0
  var gateway: IPAddress?
  /// Whether the route rejects or drops packets, which hides the routes after it.
  var refuses = false
  /// Whether the kernel currently skips this next hop.
  var isDead = false
}

/// The kernel's decision about packets to addresses beyond this network, by all its rules and tables.
enum RouteChoice: Sendable, Hashable {
  /// The kernel rejects or drops them.
  case refused
  /// They leave through this next hop, whose metric is not known, and with this address; `nil` if the kernel knows none.
  case hop(DefaultRoute, source: IPAddress?)
}
