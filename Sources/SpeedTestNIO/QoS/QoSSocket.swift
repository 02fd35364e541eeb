internal import Glibc
internal import NIOCore
internal import SpeedTest
internal import Streams

/// A socket of a quality-of-service test, in non-blocking mode.
struct QoSSocket {
  /// The reason for which an operation gave no result.
  enum Failure: Error, Hashable {
    /// Nothing happened in time.
    case timedOut
    /// The system or the peer refused; with the reason.
    case refused(String)
  }

  let number: Int32
  private let descriptor: Streams.FileDescriptor
  let work: BlockingWork

  private init(_ number: Int32, _ work: BlockingWork) {
    self.number = number
    descriptor = FileDescriptor(owning: number)
    self.work = work
  }

  private static func make(_ address: SocketAddress, _ type: __socket_type, _ work: BlockingWork)
    throws -> QoSSocket
  {
    let family = address.protocol == .inet6 ? AF_INET6 : AF_INET
    let flags = SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let number = socket(family, Int32(type.rawValue | flags), 0)
    guard number >= 0 else { throw Failure.refused(Self.reason("socket")) }
    return QoSSocket(number, work)
  }

  static func reason(_ call: String) -> String { SystemCallError(call).description }

  // MARK: Making

  /// Connects to an address.
  /// - Parameters:
  ///   - address: The address.
  ///   - type: `SOCK_STREAM` or `SOCK_DGRAM`.
  ///   - end: The instant at which the attempt ends.
  ///   - work: The thread.
  static func connected(
    to address: SocketAddress, _ type: __socket_type, until end: Duration, _ work: BlockingWork
  ) throws -> QoSSocket {
    let made = try make(address, type, work)
    if address.withSockAddr({ connect(made.number, $0, socklen_t($1)) }) == 0 { return made }
    guard errno == EINPROGRESS else { throw Failure.refused(reason("connect")) }
    guard try work.wait(made.number, for: POLLOUT, until: end) != 0 else { throw Failure.timedOut }
    var error: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(made.number, SOL_SOCKET, SO_ERROR, &error, &length)
    guard error == 0 else {
      throw Failure.refused(SystemCallError("connect", errno: error).description)
    }
    return made
  }

  /// Binds a port on all addresses of the family of another one.
  /// - Parameters:
  ///   - port: The port.
  ///   - peer: The address whose family is used.
  ///   - type: `SOCK_STREAM`, which listens then, or `SOCK_DGRAM`.
  ///   - work: The thread.
  static func bound(
    to port: Int, like peer: SocketAddress, _ type: __socket_type, _ work: BlockingWork
  ) throws -> QoSSocket {
    let made = try make(peer, type, work)
    made.set(SOL_SOCKET, SO_REUSEADDR, 1)
    let any = try SocketAddress(ipAddress: peer.protocol == .inet6 ? "::" : "0.0.0.0", port: port)
    guard any.withSockAddr({ bind(made.number, $0, socklen_t($1)) }) == 0 else {
      throw Failure.refused("port \(port) of this host: " + reason("bind"))
    }
    if type == SOCK_STREAM, listen(made.number, 4) != 0 { throw Failure.refused(reason("listen")) }
    return made
  }

  /// Accepts a connection.
  func accepted(until end: Duration) throws -> QoSSocket {
    while true {
      guard try work.wait(number, for: POLLIN, until: end) != 0 else { throw Failure.timedOut }
      let connection = accept(number, nil, nil)
      if connection >= 0 {
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        _ = fcntl(connection, F_SETFL, O_NONBLOCK)
        return QoSSocket(connection, work)
      }
      // The peer has given up between the two calls.
      guard [EAGAIN, ECONNABORTED, EINTR].contains(errno) else {
        throw Failure.refused(Self.reason("accept"))
      }
    }
  }

  /// Sets an option to a number.
  @discardableResult
  func set(_ level: Int32, _ option: Int32, _ value: Int32) -> Bool {
    var value = value
    return setsockopt(number, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
  }

  // MARK: Bytes

  /// Sends all bytes.
  func send(_ bytes: [UInt8], until end: Duration) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count >= 0 {
        rest = rest.dropFirst(count)
        continue
      }
      switch errno {
      case EAGAIN:
        guard try work.wait(number, for: POLLOUT, until: end) != 0 else { throw Failure.timedOut }
      case EINTR: continue
      default: throw Failure.refused(Self.reason("send"))
      }
    }
  }

  /// Sends a datagram over a connected socket; one that the kernel does not take is one that is lost.
  func sendDatagram(_ bytes: [UInt8]) { _ = Glibc.send(number, bytes, bytes.count, 0) }

  /// Sends a datagram to an address.
  func send(_ bytes: [UInt8], to address: sockaddr_storage, _ length: socklen_t) {
    // A datagram that the kernel does not take is one that is lost.
    _ = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(number, bytes, bytes.count, 0, $0, length)
      }
    }
  }

  /// Receives a datagram, or the next bytes of a stream.
  /// - Returns: The bytes; `nil` at the instant. An empty stream has ended.
  func receive(until end: Duration, limit: Int = 4096) throws -> [UInt8]? {
    try receiveWithSender(until: end, limit: limit)?.bytes
  }

  /// Receives a datagram with its sender.
  func receiveWithSender(
    until end: Duration, limit: Int = 4096
  ) throws -> (bytes: [UInt8], sender: sockaddr_storage, length: socklen_t)? {
    while true {
      guard try work.wait(number, for: POLLIN, until: end) != 0 else { return nil }
      var buffer = [UInt8](repeating: 0, count: limit)
      var sender = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let count = withUnsafeMutablePointer(to: &sender) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          recvfrom(number, &buffer, limit, 0, $0, &length)
        }
      }
      if count >= 0 { return (Array(buffer[..<count]), sender, length) }
      switch errno {
      // The answer to an earlier datagram, that no program receives there, ends no test.
      case EAGAIN, EINTR, ECONNREFUSED: continue
      default: throw Failure.refused(Self.reason("recv"))
      }
    }
  }

  /// Receives a line without its end.
  /// - Returns: The line, or what arrived until the peer closed.
  /// - Throws: ``Failure/timedOut`` if neither came in time.
  func line(until end: Duration, limit: Int = 4096) throws -> String {
    var bytes: [UInt8] = []
    while bytes.count < limit, !bytes.contains(UInt8(ascii: "\n")) {
      guard let more = try receive(until: end, limit: limit) else { throw Failure.timedOut }
      if more.isEmpty { break }
      bytes += more
    }
    return String(decoding: bytes.prefix(limit).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }

  func close() { descriptor.close() }
}
