internal import CNetlink
import Glibc

extension RouteMessage {
  /// Parses a message of the routing socket. An unknown message is `.unrelated`: newer kernels have more of them.
  init(_ message: NetlinkMessage) {
    self =
      switch Int(message.header.nlmsg_type) {
      case Int(NLMSG_DONE): .done(errno: -(message.body.load(Int32.self) ?? 0).clampedError)
      case Int(NLMSG_ERROR): .refused(errno: -(message.body.load(Int32.self) ?? 0).clampedError)
      case RTM_NEWLINK: Self.link(in: message).map { .link($0) } ?? .unrelated
      case RTM_DELLINK: Self.link(in: message).map { .linkGone(index: $0.index) } ?? .unrelated
      case RTM_NEWADDR: Self.address(in: message).map { .address($0) } ?? .unrelated
      case RTM_DELADDR: Self.address(in: message).map { .addressGone($0) } ?? .unrelated
      case RTM_NEWROUTE:
        Self.defaultRoutes(in: message).map {
          .routes($0, replaces: message.header.nlmsg_flags & UInt16(NLM_F_REPLACE) != 0)
        } ?? Self.otherRoute(in: message)
      case RTM_DELROUTE: Self.defaultRoutes(in: message).map { .routesGone($0) } ?? Self.otherRoute(in: message)
      case RTM_NEWRULE, RTM_DELRULE: .choiceMayChange
      default: .unrelated
      }
  }

  private static func link(in message: NetlinkMessage) -> NetworkLink? {
    // Bridges report their ports in messages of a family of their own, with other attributes.
    guard let header = message.body.load(ifinfomsg.self), header.ifi_family == UInt8(AF_UNSPEC), header.ifi_index > 0
    else { return nil }
    var link = NetworkLink(index: header.ifi_index, flags: header.ifi_flags, hardware: header.ifi_type)
    for attribute in message.attributes(behind: ifinfomsg.self) {
      switch attribute.type {
      case IFLA_IFNAME: link.name = attribute.value.text
      case IFLA_OPERSTATE: link.operationalState = attribute.value.load() ?? 0
      case IFLA_ADDRESS: link.hardwareAddress = attribute.value.array
      case IFLA_LINKINFO:
        for inner in NetlinkAttribute.all(in: attribute.value) where inner.type == IFLA_INFO_KIND {
          link.virtualKind = inner.value.text
        }
      default: break
      }
    }
    return link.name.isEmpty ? nil : link
  }

  private static func address(in message: NetlinkMessage) -> NetworkAddress? {
    guard let header = message.body.load(ifaddrmsg.self), let family = IPAddress.Family(header.ifa_family),
      let link = Int32(exactly: header.ifa_index)
    else { return nil }
    var (own, other): (IPAddress?, IPAddress?)
    var flags = UInt32(header.ifa_flags)
    for attribute in message.attributes(behind: ifaddrmsg.self) {
      switch attribute.type {
      // On a link to one peer IFA_ADDRESS is the peer's.
      case IFA_LOCAL: own = attribute.address
      case IFA_ADDRESS: other = attribute.address
      case IFA_FLAGS: flags = attribute.value.load() ?? flags
      default: break
      }
    }
    guard let address = own ?? other, address.family == family else { return nil }
    let key = NetworkAddress.Key(link: link, address: address, prefixLength: header.ifa_prefixlen)
    return NetworkAddress(key: key, scope: header.ifa_scope, flags: flags)
  }
}

extension IPAddress.Family {
  /// Creates the family of an `AF_…` number.
  init?(_ family: UInt8) {
    switch Int32(family) {
    case AF_INET: self = .v4
    case AF_INET6: self = .v6
    default: return nil
    }
  }

  var number: UInt8 { UInt8(self == .v4 ? AF_INET : AF_INET6) }
}

extension Int32 {
  /// The value, or one that can be negated.
  fileprivate var clampedError: Int32 { Swift.max(self, -Int32.max) }
}
