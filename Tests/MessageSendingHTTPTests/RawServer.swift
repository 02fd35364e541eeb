import Foundation
import Glibc
import Streams

/// A server of plain sockets that keeps the bytes of each connection, so that a test sees what an observer sees.
final class RawServer: Sendable {
  /// The port on 127.0.0.1.
  let port: Int
  private let listener: FileDescriptor
  private let received = Lock<[[UInt8]]>([])

  /// Starts a server.
  /// - Parameters:
  ///   - closes: Whether it closes a connection after its reply.
  ///   - reply: Returns the bytes to send for the number of a connection, from 0, and what it has sent so far; `nil` to
  ///     read on, no bytes to close the connection.
  init(closes: Bool = false, _ reply: @escaping @Sendable (Int, [UInt8]) -> [UInt8]?) throws {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(number, address, size) == 0 && listen(number, 8) == 0 && getsockname(number, address, &size) == 0
      }
    }
    listener = FileDescriptor(owning: number)
    guard isBound else { throw SystemCallError("bind") }
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread { [received, listener] in
      // Closed before this thread ends, its number would be another server's, whose connections this one would take.
      defer { withExtendedLifetime(listener) {} }
      var count = 0
      while case let client = accept(number, nil, nil), client >= 0 {
        received.withLock { $0.append([]) }
        Self.serve(client, count, received, closes, reply)
        count += 1
      }
    }
  }

  deinit { stop() }

  /// The bytes of each connection so far.
  var connections: [[UInt8]] { received.withLock { $0 } }

  /// Refuses further connections.
  func stop() { _ = listener.withNumber { shutdown($0, Int32(SHUT_RDWR)) } }

  private static func serve(
    _ client: Int32, _ number: Int, _ received: Lock<[[UInt8]]>, _ closes: Bool, _ reply: (Int, [UInt8]) -> [UInt8]?
  ) {
    defer { close(client) }
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(client, &buffer, buffer.count), count > 0 {
      let all = received.withLock { received in
        received[number] += buffer[..<count]
        return received[number]
      }
      guard let answer = reply(number, all) else { continue }
      if answer.isEmpty { return }
      _ = send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
      if closes { return }
    }
  }

  /// Returns a reply once a whole request with a body of 1033 bytes has arrived.
  static func whenWhole(_ answer: String) -> @Sendable (Int, [UInt8]) -> [UInt8]? {
    { _, bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      guard let end = text.range(of: "\r\n\r\n"), text[end.upperBound...].utf8.count >= 1033 else { return nil }
      return Array(answer.utf8)
    }
  }
}
