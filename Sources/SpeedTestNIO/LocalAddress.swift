internal import Glibc
internal import NIOCore
internal import Streams

/// The address of this machine on the way to another one.
public enum LocalAddress {
  /// Returns the address from which packets to another address leave, by the kernel's routes; nothing is sent.
  /// - Parameter address: The other address, as text.
  /// - Returns: `nil` for a text that is no address, and without a route to it.
  public static func toward(_ address: String) -> String? {
    // A port is needed and never used.
    guard let remote = try? SocketAddress(ipAddress: address, port: 9) else { return nil }
    let number = socket(
      remote.protocol == .inet6 ? AF_INET6 : AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { return nil }
    let descriptor = FileDescriptor(owning: number)
    defer { descriptor.close() }
    guard remote.withSockAddr({ connect(number, $0, socklen_t($1)) }) == 0 else { return nil }
    var local = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let isKnown = withUnsafeMutablePointer(to: &local) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(number, $0, &length) == 0 }
    }
    guard isKnown else { return nil }
    return Sockets.address(local)?.ipAddress
  }
}
