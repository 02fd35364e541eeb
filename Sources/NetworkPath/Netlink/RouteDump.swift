internal import CNetlink
import Glibc

/// Asks the kernel for all there is.
struct RouteDump {
  /// What is asked for, one after another: the kernel answers one question at a time.
  private enum Question: CaseIterable {
    case links, addresses, routes4, routes6
  }

  /// How often an answer is taken again that changed while it was given.
  private static let attempts = 5

  private let socket: NetlinkSocket
  private let buffer: UnsafeMutableRawBufferPointer
  private var sequence: UInt32 = 0

  /// - Parameter buffer: at least ``NetlinkSocket/bufferSize`` bytes, free to use during ``read()``.
  init(socket: NetlinkSocket, buffer: UnsafeMutableRawBufferPointer) {
    self.socket = socket
    self.buffer = buffer
  }

  /// All links, addresses and default routes.
  /// - Throws: ``NetworkPathError``: the kernel refuses, or does not answer in time.
  mutating func read() throws(NetworkPathError) -> [RouteMessage] {
    var all: [RouteMessage] = []
    for question in Question.allCases { all += try answer(question) }
    return all
  }

  private mutating func answer(_ question: Question) throws(NetworkPathError) -> [RouteMessage] {
    for _ in 1..<Self.attempts {
      if let answer = try attempt(question) { return answer }
    }
    // It changes all the time. Each change is told of as an event, too, so this is put right by them.
    return try attempt(question, acceptingChanges: true) ?? []
  }

  /// - Returns: `nil` when the tables changed meanwhile, so that something may be missing.
  private mutating func attempt(
    _ question: Question, acceptingChanges: Bool = false
  ) throws(NetworkPathError) -> [RouteMessage]? {
    sequence &+= 1
    try socket.send(Self.request(question, sequence))
    var (answer, isWhole): ([RouteMessage], Bool) = ([], true)
    while true {
      let received = try socket.receive(into: buffer)
      guard case .bytes(let count) = received else {
        // Nothing can be lost of an answer: the kernel waits until there is room.
        throw NetworkPathError(.timedOut, "the kernel does not say what its \(question) are")
      }
      for message in NetlinkMessage.all(in: Bytes(UnsafeRawBufferPointer(rebasing: buffer[..<count])))
      where message.header.nlmsg_seq == sequence {
        if message.header.nlmsg_flags & UInt16(NLM_F_DUMP_INTR) != 0 { isWhole = false }
        switch RouteMessage(message) {
        case .done(errno: 0): return isWhole || acceptingChanges ? answer : nil
        // Without IPv6 in the kernel, and in a namespace so new that it has no table of routes yet.
        case .refused(errno: EAFNOSUPPORT), .refused(errno: EOPNOTSUPP), .refused(errno: ENOENT), .done(errno: ENOENT):
          return []
        case .done(let number), .refused(let number):
          throw NetworkPathError(
            .unavailable, "the kernel does not say what its \(question) are: \(String(cString: strerror(number)))",
            errno: number)
        case .unrelated: break
        case let message: answer.append(message)
        }
      }
    }
  }

  private static func request(_ question: Question, _ sequence: UInt32) -> [UInt8] {
    switch question {
    case .links:
      // Without the counters of packets, which are most of the answer.
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
