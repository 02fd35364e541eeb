import Foundation
import Streams

/// A TCP server on 127.0.0.1 that sends what a test tells it to, to every client.
final class LineServer: Sendable {
  let port: Int
  private let listener: Int32
  private let clients = Lock<[Int32]>([])
  private let arrivals: BoundedStream<Void>
  private let arrived: BoundedStream<Void>.Source

  /// Listens on a port; 0 selects a free one.
  init(port: Int = 0) throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let socket = listener
    let isListening = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, length) == 0 && listen(socket, 8) == 0 && getsockname(socket, $0, &length) == 0
      }
    }
    guard isListening else { throw SystemCallError("listen") }
    self.port = Int(in_port_t(bigEndian: address.sin_port))
    (arrivals, arrived) = BoundedStream.make(of: Void.self, limit: 64)
    Thread.detachNewThread { [self] in
      // Ends when the listener is shut down.
      while case let client = accept(socket, nil, nil), client >= 0 {
        clients.withLock { $0.append(client) }
        arrived.yield(())
      }
    }
  }

  /// Waits until one more client has connected.
  func waitForClient() async { for await _ in arrivals { return } }

  func send(_ text: String) {
    let bytes = Array(text.utf8)
    clients.withLock { for client in $0 { _ = Glibc.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) } }
  }

  /// Returns what the newest client has sent, at most 4096 bytes of it, on a thread of its own.
  func received() async -> String {
    guard let client = clients.withLock({ $0.last }) else { return "" }
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(client, &buffer, buffer.count, 0)
        continuation.resume(returning: String(decoding: buffer[..<max(count, 0)], as: UTF8.self))
      }
    }
  }

  func dropClients() {
    clients.withLock { clients in
      for client in clients { Glibc.close(client) }
      clients = []
    }
  }

  func close() {
    shutdown(listener, Int32(SHUT_RDWR))
    Glibc.close(listener)
    dropClients()
  }
}
