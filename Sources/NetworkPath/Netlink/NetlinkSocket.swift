internal import CNetlink
import Glibc

/// A socket to the kernel's routing tables, in the network namespace of the thread that opens it.
final class NetlinkSocket: Sendable {
  /// What a read brought.
  enum Received: Equatable {
    /// So many bytes, at the start of the buffer.
    case bytes(Int)
    /// Nothing is there.
    case nothing
    /// Messages were lost: they came faster than they were read, or one did not fit.
    case overrun
  }

  /// The largest message: the kernel fills at most 32 KiB of a dump's buffer.
  static let bufferSize = 64 * 1024

  let descriptor: Int32

  /// - Parameters:
  ///   - groups: the `RTMGRP_…` to hear of; 0 for a socket that only asks.
  ///   - receiveBuffer: how many bytes the kernel keeps for us; `nil` for its default.
  ///   - answerLimit: how long a read waits; `nil` for not at all.
  init(groups: UInt32 = 0, receiveBuffer: Int32? = nil, answerLimit: Duration? = nil) throws(NetworkPathError) {
    let waiting: __socket_type? = answerLimit == nil ? SOCK_NONBLOCK : nil
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
    guard status == 0 else {
      let number = errno
      close(descriptor)
      throw Self.failure("bind(AF_NETLINK)", number)
    }
    // Older kernels lack it; what it leaves out of an answer is left out here as well.
    set(Self.netlinkLevel, NETLINK_GET_STRICT_CHK, Int32(1))
    if let receiveBuffer { set(SOL_SOCKET, SO_RCVBUF, receiveBuffer) }
    if let answerLimit {
      let (seconds, fraction) = answerLimit.components
      set(SOL_SOCKET, SO_RCVTIMEO, timeval(tv_sec: Int(seconds), tv_usec: Int(fraction / 1_000_000_000_000)))
    }
  }

  deinit {
    close(descriptor)
  }

  func set<T>(_ level: Int32, _ option: Int32, _ value: T) {
    // Each of these only makes things faster, or quieter: nothing depends on it.
    _ = withUnsafePointer(to: value) { setsockopt(descriptor, level, option, $0, socklen_t(MemoryLayout<T>.size)) }
  }

  /// Sends a request.
  func send(_ bytes: [UInt8]) throws(NetworkPathError) {
    guard Glibc.send(descriptor, bytes, bytes.count, 0) == bytes.count else {
      throw Self.failure("asking the kernel", errno)
    }
  }

  /// Reads what the kernel has sent, in one datagram; what others send is left out.
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
      default: throw Self.failure("reading from netlink", errno)
      }
    }
  }

  private static func failure(_ doing: String, _ number: Int32) -> NetworkPathError {
    let isLimit = [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(number)
    return NetworkPathError(
      isLimit ? .limitExceeded : .unavailable, "\(doing): \(String(cString: strerror(number)))", errno: number,
      hint: isLimit ? nil : "a sandbox may forbid AF_NETLINK: in a systemd unit, RestrictAddressFamilies=")
  }

  /// `SOL_NETLINK`, which no header here has.
  private static let netlinkLevel: Int32 = 270
  /// `MSG_TRUNC`: tell how long the datagram is, though it does not fit.
  private static let wantsFullLength = Int32(MSG_TRUNC)
}
