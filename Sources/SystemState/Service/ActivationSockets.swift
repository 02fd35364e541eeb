import Glibc

/// The sockets that the service manager has opened for this program: socket activation, with the protocol of
/// `sd_listen_fds(3)`.
///
/// ```swift
/// if let sockets = ActivationSockets.take() {
///   print("listening sockets:", sockets.streams, "UDP:", sockets.datagrams)
/// }
/// ```
public struct ActivationSockets: Sendable, Hashable {
  /// The sockets of streams, which listen already, in the order of the unit.
  public var streams: [Int32] = []
  /// The sockets of datagrams, which are bound, in the order of the unit.
  public var datagrams: [Int32] = []
  /// The number of further descriptors, which are neither and were closed.
  public var others = 0

  private static let first: Int32 = 3
  /// The most descriptors that are looked at; a unit has a handful.
  private static let limit: Int32 = 256

  /// Returns the sockets, which the caller owns from now on; programs that this one starts do not inherit them.
  ///
  /// To be called once: the variables of the environment that announce the sockets are removed.
  /// - Returns: `nil` if no service manager has opened sockets for this program.
  public static func take() -> ActivationSockets? {
    func variable(_ name: String) -> String? {
      defer { unsetenv(name) }
      return getenv(name).map { String(cString: $0) }
    }
    let process = variable("LISTEN_PID")
    let count = variable("LISTEN_FDS").flatMap(Int32.init)
    _ = variable("LISTEN_FDNAMES")
    // They may be those of the parent process.
    guard process == "\(getpid())", let count, (1...limit).contains(count) else { return nil }
    return ActivationSockets(descriptors: first..<first + count)
  }

  init(descriptors: Range<Int32>) {
    for descriptor in descriptors {
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      switch Self.kind(of: descriptor) {
      case Int32(SOCK_STREAM.rawValue): streams.append(descriptor)
      case Int32(SOCK_DGRAM.rawValue): datagrams.append(descriptor)
      default:
        others += 1
        close(descriptor)
      }
    }
  }

  private static func kind(of descriptor: Int32) -> Int32? {
    var kind: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 else { return nil }
    return kind
  }
}
