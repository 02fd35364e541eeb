/// What the kernel says about its network, as far as a path depends on it.
enum RouteMessage: Equatable {
  case link(NetworkLink)
  case linkGone(index: Int32)
  case address(NetworkAddress)
  case addressGone(NetworkAddress)
  /// The next hops of one default route; `replaces` when they take the place of one with the same metric.
  case routes([DefaultRoute], replaces: Bool)
  case routesGone([DefaultRoute])
  /// The end of a dump; the kernel's error number when it broke off, else 0.
  case done(errno: Int32)
  /// The kernel refuses what was asked; its error number.
  case refused(errno: Int32)
  /// Nothing that a path depends on, or nothing that could be read.
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
  /// What virtual interface it is, such as `veth` or `wireguard`; `nil` for a physical one.
  var virtualKind: String?
  var hardwareAddress: [UInt8] = []
  /// What its driver says, which the routing socket does not.
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
  /// `RT_SCOPE_…`: how far it is good.
  var scope: UInt8
  /// `IFA_F_…`.
  var flags: UInt32
}

/// One next hop of a default route.
struct DefaultRoute: Sendable, Hashable {
  var family: IPAddress.Family
  /// Lower goes first; 0 when the kernel names none.
  var metric: UInt32 = 0
  /// 0 when it has no interface, as one that refuses packets.
  var link: Int32 = 0
  var gateway: IPAddress?
  /// A route that refuses packets, or makes them vanish, and ends the search for others.
  var refuses = false
  /// The kernel does not use this next hop now.
  var isDead = false
}
