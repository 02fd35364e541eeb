import Glibc
import Streams

/// A ping server on a port of the loopback interface, which answers as a test wants, on a thread.
final class PingServer: Sendable {
  let port: Int
  private let socket: FileDescriptor
  private let reply = Lock<@Sendable ([UInt8]) -> [UInt8]?>({ Array("RR01".utf8) + $0[4..<8] })
  private let requests = Lock(0)

  var count: Int { requests.withLock { $0 } }

  init() throws {
    let number = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { throw SystemCallError("socket") }
    socket = FileDescriptor(owning: number)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(number, address, length) == 0 && getsockname(number, address, &length) == 0
      }
    }
    guard isBound else { throw SystemCallError("bind") }
    port = Int(UInt16(bigEndian: address.sin_port))
    try startThread(named: "ping-server") { [socket, reply, requests] in
      while Self.answer(number, reply, requests) {}
      socket.close()
    }
  }

  /// Ends the thread, which closes the socket.
  deinit { _ = socket.withNumber { shutdown($0, Int32(SHUT_RDWR)) } }

  /// Changes the reply to each request; `nil` is none.
  func answer(_ body: @escaping @Sendable ([UInt8]) -> [UInt8]?) { reply.withLock { $0 = body } }

  private static func answer(
    _ number: Int32, _ reply: Lock<@Sendable ([UInt8]) -> [UInt8]?>, _ requests: Lock<Int>
  ) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 64)
    var sender = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &sender) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        let count = recvfrom(number, &bytes, bytes.count, 0, address, &length)
        if count < 0, errno == EINTR { return true }
        guard count > 0 else { return false }
        requests.withLock { $0 += 1 }
        if count == 24, let answer = reply.withLock({ $0 })(Array(bytes[..<count])) {
          sendto(number, answer, answer.count, 0, address, length)
        }
        return true
      }
    }
  }
}
