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

  private static func request(_ type: Int, _ sequence: UInt32, _ body: [UInt8]) -> [UInt8] {
    let header = nlmsghdr(
      nlmsg_len: UInt32(MemoryLayout<nlmsghdr>.size + body.count), nlmsg_type: UInt16(type),
      nlmsg_flags: UInt16(NLM_F_REQUEST | NLM_F_DUMP), nlmsg_seq: sequence, nlmsg_pid: 0)
    return bytes(of: header) + body
  }

  private static func bytes<T: BitwiseCopyable>(of value: T) -> [UInt8] {
    withUnsafeBytes(of: value) { Array($0) }
  }
}
