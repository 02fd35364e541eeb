internal import Glibc
package import NIOCore
internal import NIOPosix

/// The settings of sockets that both ends use, and their addresses.
package enum Sockets {
  /// The most unsent bytes in the kernel's buffer: what waits there for seconds would spoil the end of a test.
  static let unsentLimit = 131_072
  /// The buffered bytes above which a channel counts as full, and below which it is writable again.
  static let watermarks = ChannelOptions.Types.WriteBufferWaterMark(low: 64 << 10, high: 256 << 10)
  /// A read buffer that grows to 128 KiB on a fast link and stays small on an idle connection.
  static let reading = AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 4096, maximum: 128 << 10)
  /// The event loops of all transfers, four on a small machine: where the processors are busy, the scheduler gives each
  /// thread its share, and a peer with one thread for each connection would leave fewer loops too little to read in time.
  static let loops = MultiThreadedEventLoopGroup(numberOfThreads: max(System.coreCount, 4))
  static let noDelay = ChannelOptions.tcpOption(.tcp_nodelay)
  static let unsent = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_NOTSENT_LOWAT))

  /// Returns the 16 bytes of an address; those of IPv4 are mapped into IPv6. `nil` for other families.
  package static func bytes(of address: SocketAddress?) -> [UInt8]? {
    switch address {
    case .v4(let address):
      return withUnsafeBytes(of: address.address.sin_addr) { [UInt8](repeating: 0, count: 10) + [0xff, 0xff] + $0 }
    case .v6(let address): return withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
    default: return nil
    }
  }

  /// Returns the address that the kernel has written; `nil` for other families than those of IP.
  static func address(_ storage: sockaddr_storage) -> SocketAddress? {
    withUnsafePointer(to: storage) { pointer in
      switch Int32(storage.ss_family) {
      case AF_INET: pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { SocketAddress($0.pointee) }
      case AF_INET6: pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { SocketAddress($0.pointee) }
      default: nil
      }
    }
  }

  /// Returns the part of an address that stands for one client: of IPv6 the first 64 bits, since a host has all the others.
  static func network(of address: SocketAddress?) -> [UInt8] {
    let bytes = bytes(of: address) ?? []
    return bytes.starts(with: [UInt8](repeating: 0, count: 10)) ? bytes : Array(bytes.prefix(8))
  }

  /// Returns the name of the interface that has an address; `nil` if none has it.
  static func interface(with address: SocketAddress?) -> String? {
    // Without the list of interfaces there is a connection all the same.
    let devices = (try? System.enumerateDevices()) ?? []
    let text = text(of: address)
    return devices.first { self.text(of: $0.address) == text }?.name
  }

  /// Returns the address without its port, in the form that a user writes.
  static func text(of address: SocketAddress?) -> String {
    let text = address?.ipAddress ?? "unknown"
    return text.hasPrefix("::ffff:") ? String(text.dropFirst(7)) : text
  }
}
