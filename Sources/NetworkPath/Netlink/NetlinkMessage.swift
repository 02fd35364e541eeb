internal import CNetlink

/// One message of a netlink datagram.
struct NetlinkMessage {
  var header: nlmsghdr
  /// The bytes after the header.
  var body: Bytes

  /// Returns the messages of a datagram, up to the first malformed one.
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

  /// Returns the attributes after a header in the body, up to the first malformed one.
  func attributes<Header>(behind header: Header.Type) -> some Sequence<NetlinkAttribute> {
    NetlinkAttribute.all(in: body.rest(from: Self.aligned(MemoryLayout<Header>.size)))
  }

  /// Headers, bodies and attributes begin at multiples of four.
  static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }
}

/// One attribute of a message, or of an attribute with nested ones.
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

  /// The value as an IPv4 or IPv6 address.
  var address: IPAddress? { IPAddress(bytes: value.array) }
}
