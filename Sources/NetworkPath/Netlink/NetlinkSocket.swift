internal import CNetlink
import Glibc

/// A socket to the kernel's routing tables, in the network namespace of the thread that opens it.
final class NetlinkSocket: Sendable {
  /// The result of a read.
  enum Received: Equatable {
    /// The number of bytes at the start of the buffer.
    case bytes(Int)
    /// No datagram is available.
    case nothing
    /// Messages were lost: they came faster than they were read, or one did not fit.
    case overrun
  }

  /// The size of a read buffer: the kernel fills at most 32 KiB of one in a dump.
  static let bufferSize = 64 * 1024

  let descriptor: Int32

  /// - Parameters:
  ///   - groups: The `RTMGRP_…` to subscribe to; 0 for a socket of requests.
  ///   - receiveBuffer: The number of bytes that the kernel buffers; `nil` for its default.
  ///   - replyTimeout: The longest time that a read waits; `nil` for a socket that never waits.
  init(groups: UInt32 = 0, receiveBuffer: Int32? = nil, replyTimeout: Duration? = nil) throws(NetworkPathError) {
    let waiting: __socket_type? = replyTimeout == nil ? SOCK_NONBLOCK : nil
    let kind = SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | (waiting?.rawValue ?? 0)
    descriptor = socket(AF_NETLINK, Int32(kind), NETLINK_ROUTE)
    guard descriptor >= 0 else { throw Self.failure("socket(AF_NETLINK)", errno) }
    var address = sockaddr_nl()
    address.nl_family = sa_family_t(AF_NETLINK)
    address.nl_groups = groups
    let status = withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
      }
    }
    // An object whose properties are all set is closed by `deinit`, also when its initializer throws.
    guard status == 0 else { throw Self.failure("bind(AF_NETLINK)", errno) }
    // Older kernels lack it; the parser drops what it filters out, too.
    set(Self.netlinkLevel, NETLINK_GET_STRICT_CHK, Int32(1))
    if let receiveBuffer { set(SOL_SOCKET, SO_RCVBUF, receiveBuffer) }
    if let replyTimeout {
      let (seconds, fraction) = replyTimeout.components
      set(SOL_SOCKET, SO_RCVTIMEO, timeval(tv_sec: Int(seconds), tv_usec: Int(fraction / 1_000_000_000_000)))
    }
  }

  deinit {
    close(descriptor)
  }

  func set<T>(_ level: Int32, _ option: Int32, _ value: T) {
    // Each option only saves time or messages: a failure changes no result.
    _ = withUnsafePointer(to: value) { setsockopt(descriptor, level, option, $0, socklen_t(MemoryLayout<T>.size)) }
  }

  /// Sends a request.
  func send(_ bytes: [UInt8]) throws(NetworkPathError) {
    guard Glibc.send(descriptor, bytes, bytes.count, 0) == bytes.count else {
      throw Self.failure("send a netlink request", errno)
    }
  }

  /// Reads one datagram of the kernel; those of other senders are ignored.
  func receive(into buffer: UnsafeMutableRawBufferPointer) throws(NetworkPathError) -> Received {
    while true {
      var sender = sockaddr_nl()
      var length = socklen_t(MemoryLayout<sockaddr_nl>.size)
      let count = withUnsafeMutablePointer(to: &sender) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          recvfrom(descriptor, buffer.baseAddress, buffer.count, Self.wantsFullLength, $0, &length)
        }
      }
      if count > buffer.count { return .overrun }
      if count >= 0 {
        if sender.nl_pid == 0 { return .bytes(count) }
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN: return .nothing
      case ENOBUFS: return .overrun
      default: throw Self.failure("read from netlink", errno)
      }
    }
  }

  private static func failure(_ doing: String, _ number: Int32) -> NetworkPathError {
    let isLimit = [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(number)
    return NetworkPathError(
      isLimit ? .limitExceeded : .unavailable, "\(doing): \(String(cString: strerror(number)))", errno: number,
      hint: isLimit ? nil : "a sandbox may forbid AF_NETLINK: in a systemd unit, RestrictAddressFamilies=")
  }

  /// `SOL_NETLINK`, which the imported headers lack.
  private static let netlinkLevel: Int32 = 270
  /// `MSG_TRUNC`: return the full length of a datagram that does not fit.
  private static let wantsFullLength = Int32(MSG_TRUNC)
}
