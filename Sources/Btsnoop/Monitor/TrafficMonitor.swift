import Glibc
package import Streams

/// The traffic between this host and its Bluetooth controllers, from the kernel's monitor channel.
///
/// The kernel shows it to programs with the capability CAP_NET_RAW, in the network namespace of the host. It begins with
/// a note for each adapter; connections that exist already have none.
///
/// ```swift
/// let monitor = try TrafficMonitor(
///   onRecords: { records in for record in records { print(record.kind) } },
///   onEnd: { error in if let error { print(error) } })
/// defer { monitor.stop() }
/// ```
///
/// A thread of its own reads: a program that is busy loses nothing as long as its handler returns.
public final class TrafficMonitor: Sendable {
  private let descriptor: FileDescriptor
  private let wakeUp: WakeUp

  /// Opens the channel, and starts to read.
  /// - Parameters:
  ///   - onRecords: Receives the records in order, on the reading thread.
  ///   - onEnd: Called once, on that thread, after the last records: without an error after ``stop()``.
  /// - Throws: ``BtsnoopError``: `.notPermitted` without the capability, `.noBluetooth`, or `.storage` when the process
  ///   has no descriptor or thread left.
  public convenience init(
    onRecords: @escaping @Sendable ([CaptureRecord]) -> Void,
    onEnd: @escaping @Sendable (BtsnoopError?) -> Void
  ) throws(BtsnoopError) {
    try self.init(owning: try Self.open(), onRecords: onRecords, onEnd: onEnd)
  }

  /// Starts to read from a descriptor, on whose other end is the kernel or an imitation of it.
  package init(
    owning descriptor: FileDescriptor, onRecords: @escaping @Sendable ([CaptureRecord]) -> Void,
    onEnd: @escaping @Sendable (BtsnoopError?) -> Void
  ) throws(BtsnoopError) {
    self.descriptor = descriptor
    do throws(SystemCallError) {
      wakeUp = try WakeUp()
      let reader = MonitorReader(descriptor: descriptor, wakeUp: wakeUp, onRecords: onRecords, onEnd: onEnd)
      try startThread(named: "ble-monitor") { reader.run() }
    } catch {
      throw BtsnoopError(.storage, "starting the thread that reads the traffic failed", errno: error.errno)
    }
  }

  deinit { stop() }

  /// Ends the reading: what the kernel has delivered up to now is still handed over. Returns at once.
  public func stop() { wakeUp.signal() }

  private static func open() throws(BtsnoopError) -> FileDescriptor {
    // AF_BLUETOOTH (include/linux/socket.h) is 31, BTPROTO_HCI (include/net/bluetooth/bluetooth.h) is 1.
    let number = socket(31, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 1)
    guard number >= 0 else { throw failure(errno) }
    let descriptor = FileDescriptor(owning: number)
    var one: Int32 = 1
    setsockopt(number, SOL_SOCKET, SO_TIMESTAMP, &one, socklen_t(MemoryLayout<Int32>.size))
    // The kernel drops what does not fit; beyond the system's limit only with a privilege.
    var size: Int32 = 4 << 20
    if setsockopt(number, SOL_SOCKET, SO_RCVBUFFORCE, &size, socklen_t(MemoryLayout<Int32>.size)) != 0 {
      setsockopt(number, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    // struct sockaddr_hci (include/net/bluetooth/hci_sock.h): family, HCI_DEV_NONE, HCI_CHANNEL_MONITOR.
    let address: [UInt16] = [31, 0xffff, 2]
    let bound = address.withUnsafeBytes { bytes in
      bind(number, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    guard bound == 0 else { throw failure(errno) }
    return descriptor
  }

  private static func failure(_ number: Int32) -> BtsnoopError {
    let doing = "opening the kernel's monitor channel"
    let reason = String(cString: strerror(number))
    return switch number {
    case EPERM, EACCES:
      BtsnoopError(
        .notPermitted, "\(doing) needs the capability CAP_NET_RAW", errno: number,
        hint: "run the program as root, or with that capability")
    case EAFNOSUPPORT, EPROTONOSUPPORT, ENODEV:
      BtsnoopError(
        .noBluetooth, "\(doing): the kernel has no Bluetooth here: \(reason)", errno: number,
        hint: "load the module `bluetooth`; in a container, use the network namespace of the host")
    default: BtsnoopError(.storage, "\(doing) failed: \(reason)", errno: number)
    }
  }
}
