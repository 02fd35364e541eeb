internal import CNetlink

/// One message in what a netlink socket has received.
struct NetlinkMessage {
  var header: nlmsghdr
  /// What follows the header.
  var body: Bytes

  /// The messages in a datagram, as far as it makes sense.
  static func all(in datagram: Bytes) -> some Sequence<NetlinkMessage> {
    sequence(state: datagram) { rest in
      let size = MemoryLayout<nlmsghdr>.size
      guard let header = rest.load(nlmsghdr.self), header.nlmsg_len >= size,
        let body = rest.part(from: size, count: Int(header.nlmsg_len) - size)
      else { return nil }
      rest = rest.rest(from: aligned(Int(header.nlmsg_len)))
      return NetlinkMessage(header: header, body: body)
    }
  }

  /// The attributes from an offset of the body on, as far as they make sense.
  func attributes<Header>(behind header: Header.Type) -> some Sequence<NetlinkAttribute> {
    NetlinkAttribute.all(in: body.rest(from: Self.aligned(MemoryLayout<Header>.size)))
  }

  /// Headers, bodies and attributes begin at multiples of four.
  static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }
}

/// One attribute of a message, or of an attribute that contains others.
struct NetlinkAttribute {
  /// `IFLA_…`, `IFA_…` or `RTA_…`, without the flags above it.
  var type: Int
  var value: Bytes

  /// `NLA_TYPE_MASK`: all but the flags "nested" and "in network order".
  private static let typeMask = 0x3fff

  static func all(in bytes: Bytes) -> some Sequence<NetlinkAttribute> {
    sequence(state: bytes) { rest in
      let size = MemoryLayout<rtattr>.size
      guard let header = rest.load(rtattr.self), header.rta_len >= size,
        let value = rest.part(from: size, count: Int(header.rta_len) - size)
      else { return nil }
      rest = rest.rest(from: NetlinkMessage.aligned(Int(header.rta_len)))
      return NetlinkAttribute(type: Int(header.rta_type) & typeMask, value: value)
    }
  }

  /// The value as an address of either protocol.
  var address: IPAddress? { IPAddress(bytes: value.array) }
}
