internal import CNetlink

extension RouteMessage {
  /// Returns the next hops of a default route of the main table; `nil` for every other route.
  static func defaultRoutes(in message: NetlinkMessage) -> [DefaultRoute]? {
    guard let header = message.body.load(rtmsg.self), header.rtm_dst_len == 0, header.rtm_src_len == 0,
      header.rtm_tos == 0, header.rtm_flags & RTM_F_CLONED.bits == 0, let family = IPAddress.Family(header.rtm_family)
    else { return nil }
    var route = DefaultRoute(family: family)
    switch Int(header.rtm_type) {
    case RTN_UNICAST: break
    case RTN_BLACKHOLE, RTN_UNREACHABLE, RTN_PROHIBIT: route.refuses = true
    default: return nil
    }
    route.isDead = Self.isDead(header.rtm_flags)
    var table = UInt32(header.rtm_table)
    var hops: [DefaultRoute] = []
    for attribute in message.attributes(behind: rtmsg.self) {
      switch attribute.type {
      case Int(RTA_TABLE.rawValue): table = attribute.value.load() ?? table
      case Int(RTA_PRIORITY.rawValue): route.metric = attribute.value.load() ?? 0
      case Int(RTA_OIF.rawValue): route.link = attribute.value.load() ?? 0
      case Int(RTA_MULTIPATH.rawValue): hops = Self.hops(in: attribute.value, family)
      default: route.gateway = Self.gateway(attribute) ?? route.gateway
      }
    }
    guard table == UInt32(RT_TABLE_MAIN.rawValue) else { return nil }
    guard !hops.isEmpty else { return [route] }
    return hops.map { hop in
      var hop = hop
      hop.metric = route.metric
      return hop
    }
  }

  /// The longest prefix of a route that leads to a large part of all addresses: VPNs set 0.0.0.0/1 and 128.0.0.0/1, or
  /// 2000::/3, in front of the default route.
  static let widePrefix: UInt8 = 3

  /// Returns the message of a route that is no default route of the main table.
  static func otherRoute(in message: NetlinkMessage) -> RouteMessage {
    guard let header = message.body.load(rtmsg.self), header.rtm_dst_len <= widePrefix,
      header.rtm_flags & RTM_F_CLONED.bits == 0, IPAddress.Family(header.rtm_family) != nil
    else { return .unrelated }
    return .choiceMayChange
  }

  /// Returns the kernel's decision about one packet, from its reply; `nil` for a malformed one.
  static func choice(in message: NetlinkMessage) -> RouteChoice? {
    guard let header = message.body.load(rtmsg.self), let family = IPAddress.Family(header.rtm_family) else {
      return nil
    }
    guard Int(header.rtm_type) == RTN_UNICAST else { return .refused }
    var hop = DefaultRoute(family: family)
    var source: IPAddress?
    for attribute in message.attributes(behind: rtmsg.self) {
      switch attribute.type {
      case Int(RTA_OIF.rawValue): hop.link = attribute.value.load() ?? 0
      case Int(RTA_PREFSRC.rawValue): source = attribute.address
      default: hop.gateway = gateway(attribute) ?? hop.gateway
      }
    }
    return .hop(hop, source: source)
  }

  /// Returns the next hops of a multipath route.
  private static func hops(in bytes: Bytes, _ family: IPAddress.Family) -> [DefaultRoute] {
    var hops: [DefaultRoute] = []
    var rest = bytes
    let size = MemoryLayout<rtnexthop>.size
    while let header = rest.load(rtnexthop.self), header.rtnh_len >= size,
      let attributes = rest.part(from: size, count: Int(header.rtnh_len) - size)
    {
      var hop = DefaultRoute(
        family: family, link: header.rtnh_ifindex, isDead: isDead(UInt32(header.rtnh_flags)))
      for attribute in NetlinkAttribute.all(in: attributes) { hop.gateway = gateway(attribute) ?? hop.gateway }
      hops.append(hop)
      rest = rest.rest(from: NetlinkMessage.aligned(Int(header.rtnh_len)))
    }
    return hops
  }

  private static func gateway(_ attribute: NetlinkAttribute) -> IPAddress? {
    switch attribute.type {
    case Int(RTA_GATEWAY.rawValue): attribute.address
    // A gateway of the other family: two bytes of family, then the address.
    case Int(RTA_VIA.rawValue): IPAddress(bytes: attribute.value.rest(from: 2).array)
    default: nil
    }
  }

  private static func isDead(_ flags: UInt32) -> Bool { flags & UInt32(RTNH_F_DEAD) != 0 }
}

extension BinaryInteger {
  /// Flags are signed in some kernel headers and unsigned in others.
  fileprivate var bits: UInt32 { UInt32(truncatingIfNeeded: self) }
}
