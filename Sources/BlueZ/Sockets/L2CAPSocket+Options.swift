import DBus
import Glibc

/// The system calls of a socket, and their errors.
extension L2CAPSocket {
  // Options of SOL_BLUETOOTH (include/net/bluetooth/bluetooth.h).

  /// `struct bt_security`: the level and the size of the key, a byte each.
  static let security: Int32 = 4
  /// 16 bits, known once there is a channel.
  private static let sendMTU: Int32 = 12
  /// 16 bits, to be set before there is a channel.
  static let receiveMTU: Int32 = 13
  /// A 32-bit set of `BT_PHY_…`.
  private static let phy: Int32 = 14

  /// Makes a system call that returns −1 when it fails, and repeats it when a signal interrupts it.
  /// - Throws: ``BlueZError`` with the error number; `.notConnected` when the socket was closed on this side.
  @discardableResult
  func call(_ doing: String, _ body: (Int32) -> Int32) throws -> Int32 {
    let result = descriptor.withNumber { number -> Result<Int32, BlueZError> in
      while true {
        let result = body(number)
        if result >= 0 { return .success(result) }
        if errno != EINTR { return .failure(BlueZError(errno: errno, while: doing)) }
      }
    }
    guard let result else { throw BlueZError(.notConnected, "\(doing): closed on this side") }
    return try result.get()
  }

  func setOption<Value>(_ level: Int32, _ option: Int32, _ value: Value, _ doing: String) throws {
    try withUnsafeBytes(of: value) { bytes in
      _ = try call(doing) { setsockopt($0, level, option, bytes.baseAddress, socklen_t(bytes.count)) }
    }
  }

  func setOption(_ level: Int32, _ option: Int32, _ value: [UInt8], _ doing: String) throws {
    try call(doing) { setsockopt($0, level, option, value, socklen_t(value.count)) }
  }

  func option<Value: FixedWidthInteger>(_ level: Int32, _ option: Int32, _ doing: String) throws -> Value {
    var value: Value = 0
    try call(doing) { Self.option($0, level, option, &value) }
    return value
  }

  func unsent(_ doing: String) throws -> UInt32 {
    var unsent: UInt32 = 0
    try call(doing) { number in
      unsent = Self.memory(of: number).unsent
      // Checked afterwards: a channel that ends drops its packets, and then has nothing to send either.
      guard Self.events(of: number) & (POLLERR | POLLHUP) == 0 else {
        errno = ENOTCONN
        return -1
      }
      return 0
    }
    return unsent
  }

  func securityLevel(_ doing: String) throws -> UInt8 {
    UInt8((try option(SOL_BLUETOOTH, Self.security, doing) as UInt16).littleEndian & 0xff)
  }

  func mtus(_ doing: String) throws -> (receive: UInt16, send: UInt16?) {
    let receive: UInt16 = try option(SOL_BLUETOOTH, Self.receiveMTU, doing)
    do {
      return (receive, try option(SOL_BLUETOOTH, Self.sendMTU, doing))
    } catch let error as BlueZError where error.errno == ENOTCONN {
      // The peer has closed the channel already, but may have sent packets.
      return (receive, nil)
    }
  }

  func phys(_ doing: String) throws -> UInt32 { try option(SOL_BLUETOOTH, Self.phy, doing) }

  // MARK: Calls with the number of an open socket

  static func option<Value: FixedWidthInteger>(
    _ number: Int32, _ level: Int32, _ option: Int32, _ value: inout Value
  ) -> Int32 {
    var size = socklen_t(MemoryLayout<Value>.size)
    return getsockopt(number, level, option, &value, &size)
  }

  /// Returns the present result of `poll`.
  static func events(of number: Int32, _ interest: Int32 = 0) -> Int32 {
    var polled = pollfd(fd: number, events: Int16(interest), revents: 0)
    return poll(&polled, 1, 0) > 0 ? Int32(polled.revents) : 0
  }

  /// Returns the bytes of memory that wait to be read, and to be sent.
  static func memory(of number: Int32) -> (received: UInt32, unsent: UInt32) {
    // SK_MEMINFO_RMEM_ALLOC and SK_MEMINFO_WMEM_ALLOC (include/uapi/linux/sock_diag.h) are the first and the third.
    var values = [UInt32](repeating: 0, count: 9)
    var size = socklen_t(values.count * 4)
    _ = getsockopt(number, SOL_SOCKET, SO_MEMINFO, &values, &size)
    return (values[0], values[2])
  }
}
