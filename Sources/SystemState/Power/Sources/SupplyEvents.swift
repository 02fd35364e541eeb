internal import CLinux
internal import Glibc
internal import Streams

/// The kernel's events of power supplies (`NETLINK_KOBJECT_UEVENT`): each plug, and each level that a driver reports.
///
/// They need no daemon and no root. A container gets none, and many drivers report no level, so that the files must be
/// read from time to time as well.
final class SupplyEvents: Sendable {
  private let wake: WakeUp

  /// Starts to read.
  /// - Parameters:
  ///   - socket: A socket of ``open()``.
  ///   - onEvent: A closure that runs after one or more events, on a thread of this object.
  /// - Throws: `SystemCallError` when the process has no descriptor or thread left.
  init(_ socket: FileDescriptor, onEvent: @escaping @Sendable () -> Void) throws(SystemCallError) {
    let wake = try WakeUp()
    self.wake = wake
    try startThread(named: "power-events") { Self.read(socket, wake, onEvent) }
  }

  deinit { close() }

  /// Ends the reading.
  func close() { wake.signal() }

  /// Opens a socket for the events, in the network namespace of the calling thread.
  /// - Throws: `SystemCallError` where a sandbox forbids `AF_NETLINK`, or the process has no descriptor left.
  static func open() throws(SystemCallError) -> FileDescriptor {
    let kind = SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let number = socket(AF_NETLINK, Int32(kind), NETLINK_KOBJECT_UEVENT)
    guard number >= 0 else { throw SystemCallError("socket(AF_NETLINK)") }
    let socket = FileDescriptor(owning: number)
    var address = sockaddr_nl()
    address.nl_family = sa_family_t(AF_NETLINK)
    address.nl_groups = kernelGroup
    let status = withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(number, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
      }
    }
    guard status == 0 else { throw SystemCallError("bind(AF_NETLINK)") }
    return socket
  }

  /// The group of the kernel's events; those of udev have another one.
  private static let kernelGroup: UInt32 = 1

  private static func read(_ socket: FileDescriptor, _ wake: WakeUp, _ onEvent: () -> Void) {
    defer { socket.close() }
    guard let number = socket.withNumber({ $0 }) else { return }
    // The kernel's limit of an event's variables is 2 KiB.
    var buffer = [UInt8](repeating: 0, count: 8192)
    while true {
      var files = [wake.descriptor, number].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let ready = poll(&files, nfds_t(files.count), -1)
      if ready < 0, errno == EINTR { continue }
      guard ready > 0, files[0].revents == 0 else { return }
      var concerns = false
      while let event = next(number, &buffer) { concerns = event || concerns }
      if concerns { onEvent() }
    }
  }

  /// Reads one event.
  /// - Returns: `true` if it is one of a power supply, or events were lost; `nil` if there is none.
  private static func next(_ number: Int32, _ buffer: inout [UInt8]) -> Bool? {
    var sender = sockaddr_nl()
    var length = socklen_t(MemoryLayout<sockaddr_nl>.size)
    let count = withUnsafeMutablePointer(to: &sender) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        recvfrom(number, &buffer, buffer.count, 0, $0, &length)
      }
    }
    if count >= 0 { return sender.nl_pid == 0 && isOfSupply(buffer[..<count]) }
    return switch errno {
    case ENOBUFS: true
    case EINTR: false
    default: nil
    }
  }

  /// Returns `true` for an event of a power supply: `action@path` and variables, each with a zero behind it.
  static func isOfSupply(_ event: ArraySlice<UInt8>) -> Bool {
    event.split(separator: 0).dropFirst().contains { $0.elementsEqual("SUBSYSTEM=power_supply".utf8) }
  }
}
