internal import CNetlink
import Glibc

/// A reader of the kernel's complete tables.
struct RouteDump {
  /// The tables, requested one after another: the kernel serves one request of a socket at a time.
  private enum Table: CaseIterable, CustomStringConvertible {
    case links, addresses, routes4, routes6

    var description: String {
      switch self {
      case .links: "links"
      case .addresses: "addresses"
      case .routes4: "IPv4 routes"
      case .routes6: "IPv6 routes"
      }
    }
  }

  /// The number of attempts to read a table that changes meanwhile.
  private static let attempts = 5

  private let socket: NetlinkSocket
  private let buffer: UnsafeMutableRawBufferPointer
  private var sequence: UInt32 = 0

  /// - Parameter buffer: At least ``NetlinkSocket/bufferSize`` bytes, which ``read()`` may overwrite.
  init(socket: NetlinkSocket, buffer: UnsafeMutableRawBufferPointer) {
    self.socket = socket
    self.buffer = buffer
  }

  /// Reads all links, addresses and default routes.
  /// - Throws: ``NetworkPathError`` when the kernel refuses or does not reply in time.
  mutating func read() throws(NetworkPathError) -> [RouteMessage] {
    var all: [RouteMessage] = []
    for table in Table.allCases { all += try read(table) }
    return all
  }

  private mutating func read(_ table: Table) throws(NetworkPathError) -> [RouteMessage] {
    for _ in 1..<Self.attempts {
      if let messages = try attempt(table) { return messages }
    }
    // The table changes all the time. Each change is an event, too, and corrects the result.
    return try attempt(table, acceptingChanges: true) ?? []
  }

  /// - Returns: `nil` when the table changed meanwhile, so that messages may be missing.
  private mutating func attempt(
    _ table: Table, acceptingChanges: Bool = false
  ) throws(NetworkPathError) -> [RouteMessage]? {
    sequence &+= 1
    try socket.send(Self.request(table, sequence))
    var reply: [RouteMessage] = []
    var isConsistent = true
    while true {
      let received = try socket.receive(into: buffer)
      guard case .bytes(let count) = received else {
        // No part of a reply is lost: the kernel waits until the buffer has space.
        throw NetworkPathError(.timedOut, "read the kernel's \(table): no reply in time")
      }
      for message in NetlinkMessage.all(in: Bytes(UnsafeRawBufferPointer(rebasing: buffer[..<count])))
      where message.header.nlmsg_seq == sequence {
        if message.header.nlmsg_flags & UInt16(NLM_F_DUMP_INTR) != 0 { isConsistent = false }
        switch RouteMessage(message) {
        case .done(errno: 0): return isConsistent || acceptingChanges ? reply : nil
        // Without IPv6 in the kernel, and in a namespace so new that it has no routing table yet.
        case .refused(errno: EAFNOSUPPORT), .refused(errno: EOPNOTSUPP), .refused(errno: ENOENT), .done(errno: ENOENT):
          return []
        case .done(let number), .refused(let number):
          throw NetworkPathError(
            .unavailable, "read the kernel's \(table): \(String(cString: strerror(number)))", errno: number)
        case .unrelated: break
        case let message: reply.append(message)
        }
      }
    }
  }

  // MARK: The kernel's choice

  /// Addresses of which no more is known than that they lie far apart in the internet. Nothing is sent to them.
  private static let destinations: KeyValuePairs<IPAddress.Family, [String]> = [
    .v4: ["100.0.0.1", "200.0.0.1"], .v6: ["2600::1", "2a00::1"],
  ]

  /// Returns the kernel's decision about packets of each family to addresses beyond this network, as far as it says one.
  ///
  /// The tables show only the default routes of one table; rules, other tables and more specific routes, as VPNs have
  /// them, decide as well. Where some addresses are refused and others are not, there is no default route.
  mutating func choices() -> [IPAddress.Family: RouteChoice] {
    var all: [IPAddress.Family: RouteChoice] = [:]
    for (family, destinations) in Self.destinations {
      let choices = destinations.compactMap { IPAddress($0) }.compactMap { choice($0) }
      all[family] = choices.contains(.refused) ? .refused : choices.first
    }
    return all
  }

  /// - Returns: `nil` if the kernel does not say: the tables count then.
  private mutating func choice(_ destination: IPAddress) -> RouteChoice? {
    sequence &+= 1
    var message = rtmsg()
    message.rtm_family = destination.family.number
    message.rtm_dst_len = UInt8(destination.bytes.count * 8)
    let attribute = rtattr(
      rta_len: UInt16(MemoryLayout<rtattr>.size + destination.bytes.count), rta_type: UInt16(RTA_DST.rawValue))
    let body = Self.bytes(of: message) + Self.bytes(of: attribute) + destination.bytes
    do throws(NetworkPathError) {
      try socket.send(Self.request(RTM_GETROUTE, sequence, body, flags: NLM_F_REQUEST))
      while case .bytes(let count) = try socket.receive(into: buffer) {
        for reply in NetlinkMessage.all(in: Bytes(UnsafeRawBufferPointer(rebasing: buffer[..<count])))
        where reply.header.nlmsg_seq == sequence {
          switch RouteMessage(reply) {
          case .refused(ENETUNREACH), .refused(EHOSTUNREACH), .refused(EACCES): return .refused
          // EINVAL stands for a route that drops packets, and for a request that an older kernel does not understand.
          case .refused: return nil
          default: return RouteMessage.choice(in: reply)
          }
        }
      }
    } catch {
      // The dump, which uses the same socket, reports a kernel that does not reply.
    }
    return nil
  }

  private static func request(_ table: Table, _ sequence: UInt32) -> [UInt8] {
    switch table {
    case .links:
      // Without the packet counters, which are most of the reply.
      let mask = rtattr(
        rta_len: UInt16(MemoryLayout<rtattr>.size + 4), rta_type: UInt16(IFLA_EXT_MASK))
      let body = bytes(of: ifinfomsg()) + bytes(of: mask) + bytes(of: UInt32(RTEXT_FILTER_SKIP_STATS))
      return request(RTM_GETLINK, sequence, body)
    case .addresses: return request(RTM_GETADDR, sequence, bytes(of: ifaddrmsg()))
    case .routes4: return request(RTM_GETROUTE, sequence, bytes(of: routes(.v4)))
    case .routes6: return request(RTM_GETROUTE, sequence, bytes(of: routes(.v6)))
    }
  }

  private static func routes(_ family: IPAddress.Family) -> rtmsg {
    var message = rtmsg()
    message.rtm_family = family.number
    message.rtm_table = UInt8(RT_TABLE_MAIN.rawValue)
    return message
  }

  private static func request(
    _ type: Int, _ sequence: UInt32, _ body: [UInt8], flags: Int32 = NLM_F_REQUEST | NLM_F_DUMP
  ) -> [UInt8] {
    let header = nlmsghdr(
      nlmsg_len: UInt32(MemoryLayout<nlmsghdr>.size + body.count), nlmsg_type: UInt16(type),
      nlmsg_flags: UInt16(flags), nlmsg_seq: sequence, nlmsg_pid: 0)
    return bytes(of: header) + body
  }

  private static func bytes<T: BitwiseCopyable>(of value: T) -> [UInt8] {
    withUnsafeBytes(of: value) { Array($0) }
  }
}
