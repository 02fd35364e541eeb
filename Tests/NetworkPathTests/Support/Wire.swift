import CNetlink
import Glibc

@testable import NetworkPath

/// Messages in the kernel's binary format.
enum Wire {
  static func bytes<T: BitwiseCopyable>(_ value: T) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

  static func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

  static func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
  }

  static func attribute(_ type: Int, _ value: [UInt8]) -> [UInt8] {
    padded(bytes(rtattr(rta_len: UInt16(4 + value.count), rta_type: UInt16(type))) + value)
  }

  static func message(_ type: Int, _ body: [UInt8], flags: UInt16 = 0) -> [UInt8] {
    let header = nlmsghdr(
      nlmsg_len: UInt32(16 + body.count), nlmsg_type: UInt16(type), nlmsg_flags: flags, nlmsg_seq: 1, nlmsg_pid: 0)
    return padded(bytes(header) + body)
  }

  static func link(
    _ type: Int, index: Int32, family: UInt8 = 0, flags: UInt32 = 0, hardware: UInt16 = 1, _ attributes: [UInt8]
  ) -> [UInt8] {
    var header = ifinfomsg()
    header.ifi_index = index
    header.ifi_family = family
    header.ifi_flags = flags
    header.ifi_type = hardware
    return message(type, bytes(header) + attributes)
  }

  static func route(
    _ type: Int, _ attributes: [UInt8], prefix: UInt8 = 0, type kind: Int = RTN_UNICAST,
    flags: UInt16 = 0
  ) -> [UInt8] {
    var header = rtmsg()
    header.rtm_family = UInt8(AF_INET)
    header.rtm_dst_len = prefix
    header.rtm_type = UInt8(kind)
    header.rtm_table = UInt8(RT_TABLE_MAIN.rawValue)
    return message(type, bytes(header) + attributes, flags: flags)
  }

  static func read(_ bytes: [UInt8]) -> [RouteMessage] {
    bytes.withUnsafeBytes { buffer in NetlinkMessage.all(in: Bytes(buffer)).map { RouteMessage($0) } }
  }
}
