import Foundation
import Streams

/// A relay from a port of 127.0.0.1 to another one that counts the bytes and the connections.
final class CountingRelay: Sendable {
  struct Count: Sendable {
    var bytes = 0
    /// The pieces in which they were read, each at least a packet.
    var pieces = 0
    var connections = 0
  }

  let port: UInt16
  private let listener: FileDescriptor
  private let state = Lock(Count())

  init(to server: UInt16) throws {
    let listener = FileDescriptor(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
    var own = Self.address(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isOpen = withUnsafeMutablePointer(to: &own) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        listener.withNumber {
          bind($0, address, length) == 0 && listen($0, 16) == 0 && getsockname($0, address, &length) == 0
        }
      }
    }
    guard isOpen == true else { throw POSIXError(.EADDRINUSE) }
    self.listener = listener
    port = UInt16(bigEndian: own.sin_port)
    let number = listener.withNumber { dup($0) } ?? -1
    try startThread(named: "relay") { [state] in
      while case let client = accept(number, nil, nil), client >= 0 { Self.join(client, to: server, state) }
      close(number)
    }
  }

  var count: Count { state.withLock { $0 } }

  /// Takes no more connections; those that are open end with their peers.
  func stop() { listener.withNumber { _ = shutdown($0, Int32(SHUT_RDWR)) } }

  private static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
  }

  private static func join(_ client: Int32, to port: UInt16, _ state: Lock<Count>) {
    let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let isConnected = withUnsafePointer(to: address(port)) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isConnected else {
      close(client)
      close(server)
      return
    }
    state.withLock { $0.connections += 1 }
    // Closed by whoever of both directions ends last.
    let open = Lock(2)
    for (from, to) in [(client, server), (server, client)] {
      Thread.detachNewThread {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(from, &buffer, buffer.count), count > 0 {
          state.withLock { ($0.bytes, $0.pieces) = ($0.bytes + count, $0.pieces + 1) }
          guard write(to, buffer, count) == count else { break }
        }
        shutdown(to, Int32(SHUT_WR))
        let isLast = open.withLock { left in
          left -= 1
          return left == 0
        }
        if isLast {
          close(client)
          close(server)
        }
      }
    }
  }
}
