internal import CNetlink

/// A message or an attribute: a header with the length of both, then a body.
protocol NetlinkRecord {
  associatedtype Header: BitwiseCopyable
  /// Returns the length in bytes that a header gives, which includes the header.
  static func length(_ header: Header) -> Int
  init(header: Header, body: Bytes)
}

extension NetlinkRecord {
  /// Returns the records in some bytes, up to the first malformed one.
  static func all(in bytes: Bytes) -> some Sequence<Self> {
    sequence(state: bytes) { rest in
      let size = MemoryLayout<Header>.size
      guard let header = rest.load(Header.self), length(header) >= size,
        let body = rest.part(from: size, count: length(header) - size)
      else { return nil }
      rest = rest.rest(from: NetlinkMessage.aligned(length(header)))
      return Self(header: header, body: body)
    }
  }
}

/// One message of a netlink datagram.
struct NetlinkMessage: NetlinkRecord {
  var header: nlmsghdr
  /// The bytes after the header.
  var body: Bytes

  static func length(_ header: nlmsghdr) -> Int { Int(header.nlmsg_len) }

  /// Returns the attributes after a header in the body, up to the first malformed one.
  func attributes<Header>(behind header: Header.Type) -> some Sequence<NetlinkAttribute> {
    NetlinkAttribute.all(in: body.rest(from: Self.aligned(MemoryLayout<Header>.size)))
  }

  /// Headers, bodies and attributes begin at multiples of four.
  static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }
}

/// One attribute of a message, or of an attribute with nested ones.
struct NetlinkAttribute: NetlinkRecord {
  /// `IFLA_…`, `IFA_…` or `RTA_…`, without the flags above it.
  var type: Int
  var value: Bytes

  /// `NLA_TYPE_MASK`: all but the flags "nested" and "in network order".
  private static let typeMask = 0x3fff

  static func length(_ header: rtattr) -> Int { Int(header.rta_len) }

  init(header: rtattr, body: Bytes) {
    type = Int(header.rta_type) & Self.typeMask
    value = body
  }

  /// The value as an IPv4 or IPv6 address.
  var address: IPAddress? { IPAddress(bytes: value.array) }
}
