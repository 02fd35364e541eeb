import Foundation
package import Glibc
internal import Streams

/// Ports of 127.0.0.1 for programs that need the number of one before they listen.
package enum LoopbackPort {
  /// The kernel takes no port below 32,768 for a connection or for "any port": what is free stays so until its server
  /// listens. SeaweedFS also uses the ports 10,000 higher.
  private static let range: ClosedRange<UInt16> = 12_000...22_000
  /// The tests of this process run at once, and some look for ports before the servers of others listen.
  private static let taken = Lock<Set<UInt16>>([])

  /// Returns ports that nothing listens at, neither there nor 10,000 higher, and that no other test of this process has
  /// got.
  package static func free(_ count: Int) throws -> [UInt16] {
    var ports: [UInt16] = []
    for port in range.shuffled() where ports.count < count {
      if canBind(port), canBind(port + 10_000), taken.withLock({ $0.insert(port).inserted }) { ports.append(port) }
    }
    guard ports.count == count else { throw POSIXError(.EADDRINUSE) }
    return ports
  }

  /// Returns one such port.
  package static func free() throws -> UInt16 { try free(1)[0] }

  /// Returns `true` if a server listens at the port.
  package static func isHeard(_ port: UInt16) -> Bool {
    let descriptor = makeSocket()
    defer { close(descriptor) }
    return withAddress(port) { connect(descriptor, $0, $1) } == 0
  }

  /// Creates a TCP socket.
  package static func makeSocket() -> Int32 { socket(kind: SOCK_STREAM) }

  /// Calls a function with the address of a port.
  package static func withAddress(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  private static func canBind(_ port: UInt16) -> Bool {
    [SOCK_STREAM, SOCK_DGRAM].allSatisfy { kind in
      let descriptor = socket(kind: kind)
      defer { close(descriptor) }
      return withAddress(port) { bind(descriptor, $0, $1) } == 0
    }
  }

  private static func socket(kind: __socket_type) -> Int32 {
    Glibc.socket(AF_INET, Int32(kind.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
  }
}
