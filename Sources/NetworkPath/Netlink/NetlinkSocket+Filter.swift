internal import CNetlink
import Glibc

extension NetlinkSocket {
  /// Attaches a filter that drops the events of routes to a small part of all addresses. A router may change thousands
  /// of those a second; none of them is worth waking this process.
  ///
  /// Only for a socket of events: each comes in a datagram of its own, while a reply packs many into one.
  func filterOutOtherRoutes() {
    let typeOffset: UInt32 = 4
    let destinationLengthOffset = UInt32(MemoryLayout<nlmsghdr>.size) + 1
    let halfWord = BPF_LD | BPF_H | BPF_ABS
    let byte = BPF_LD | BPF_B | BPF_ABS
    let isEqual = BPF_JMP | BPF_JEQ | BPF_K
    let isGreater = BPF_JMP | BPF_JGT | BPF_K
    // `jt` and `jf` are the numbers of instructions to skip.
    var program = [
      Self.instruction(halfWord, typeOffset),
      Self.instruction(isEqual, Self.asRead(RTM_NEWROUTE), then: 1, else: 0),
      Self.instruction(isEqual, Self.asRead(RTM_DELROUTE), then: 0, else: 2),
      Self.instruction(byte, destinationLengthOffset),
      Self.instruction(isGreater, UInt32(RouteMessage.widePrefix), then: 1, else: 0),
      Self.instruction(BPF_RET | BPF_K, UInt32.max),
      Self.instruction(BPF_RET | BPF_K, 0),
    ]
    program.withUnsafeMutableBufferPointer { program in
      set(SOL_SOCKET, SO_ATTACH_FILTER, sock_fprog(len: UInt16(program.count), filter: program.baseAddress))
    }
  }

  private static func instruction(
    _ code: Int32, _ operand: UInt32, then: UInt8 = 0, else otherwise: UInt8 = 0
  ) -> sock_filter {
    sock_filter(code: UInt16(code), jt: then, jf: otherwise, k: operand)
  }

  /// A filter reads in network order, but netlink uses host order.
  private static func asRead(_ type: Int) -> UInt32 { UInt32(UInt16(type).bigEndian) }
}
