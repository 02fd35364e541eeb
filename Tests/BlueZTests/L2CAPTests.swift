import Glibc
import Testing

@testable import BlueZ

@Suite("L2CAP addresses and options") struct L2CAPTests {
  /// The bytes that C has for the same `struct sockaddr_l2` with libbluetooth-dev's l2cap.h.
  @Test("A socket address has the kernel's layout") func aSocketAddressIsTheKernels() throws {
    let address = L2CAPSocketAddress(psm: 0x0285, address: try #require(.init("C0:01:02:03:04:FF")), type: .random)
    let bytes: [UInt8] = [0x1f, 0, 0x85, 0x02, 0xff, 0x04, 0x03, 0x02, 0x01, 0xc0, 0, 0, 2, 0]
    #expect(address.bytes == bytes)
    #expect(bytes.count == L2CAPSocketAddress.size)
    #expect(L2CAPSocketAddress(bytes) == address)
  }

  @Test("A public address survives encoding and decoding") func aPublicAddressIsReadBack() throws {
    let address = L2CAPSocketAddress(psm: 0x80, address: try #require(.init("00:AA:01:01:00:0F")), type: .public)
    #expect(L2CAPSocketAddress(address.bytes) == address)
    #expect(address.bytes[12] == 1)
  }

  /// Bytes that are too short, of another family, and of Bluetooth Classic.
  @Test(
    "Bytes of any other layout are no address",
    arguments: [
      [], [UInt8](repeating: 31, count: 13), [0x02] + [UInt8](repeating: 0, count: 13),
      [0x1f] + [UInt8](repeating: 0, count: 13),
    ])
  func anythingElseIsNoAddress(_ bytes: [UInt8]) {
    #expect(L2CAPSocketAddress(bytes) == nil)
  }

  @Test("An MTU outside the range is refused", arguments: [-1, 0, 22, 65536, Int.max])
  func anMTUThatCannotBeIsRefused(_ mtu: Int) throws {
    let error = #expect(throws: BlueZError.self) { try L2CAPChannel.check(mtu: mtu) }
    #expect(error?.code == .invalidArgument)
  }

  @Test("An MTU within the range is accepted", arguments: [23, 2048, 65535])
  func anMTUThatCanBeIsNot(_ mtu: Int) throws { try L2CAPChannel.check(mtu: mtu) }

  @Test("A PSM outside the range is refused", arguments: [UInt16(0), 0x100, 0xffff])
  func aPSMThatCannotBeIsRefused(_ psm: UInt16) throws {
    let error = #expect(throws: BlueZError.self) { try L2CAPChannel.check(psm: psm) }
    #expect(error?.code == .invalidArgument)
  }

  @Test("A PSM within the range is accepted", arguments: [UInt16(1), 0x80, 0xff])
  func aPSMThatCanBeIsNot(_ psm: UInt16) throws { try L2CAPChannel.check(psm: psm) }

  @Test(
    "The kernel's errors have a code and name the phase",
    arguments: [
      (ECONNREFUSED, BlueZError.Code.channelRefused), (EACCES, .authenticationFailed), (EPERM, .notPermitted),
      (EADDRINUSE, .psmInUse),
      (ETIMEDOUT, .timedOut), (EHOSTUNREACH, .noAdapter), (EHOSTDOWN, .connectFailed), (ECONNRESET, .notConnected),
      (EAFNOSUPPORT, .notSupported), (EINVAL, .invalidArgument), (ENOMEM, .failed),
    ])
  func theKernelsErrorsHaveANameAndAPhase(_ number: Int32, _ code: BlueZError.Code) {
    let error = BlueZError(errno: number, while: "opening a door")
    #expect(error.code == code)
    #expect(error.errno == number)
    #expect(error.description.contains("opening a door: \(String(cString: strerror(number)))"))
  }
}
