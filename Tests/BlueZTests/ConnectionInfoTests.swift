import Testing

@testable import BlueZ

@Suite("Facts about connections") struct LinkInfoTests {
  /// `struct hci_conn_info`: handle 0x0040, 00:AA:01:00:00:42, type, incoming, state, mode.
  private func bytes(type: UInt8 = 0x80, state: UInt8 = 1, mode: UInt8) -> [UInt8] {
    [0x40, 0, 0x42, 0, 0, 1, 0xaa, 0, type, 0, state, 0, mode, 0, 0, 0]
  }

  @Test("A connection is read as the kernel writes it") func aLinkIsReadAsTheKernelWritesIt() throws {
    let link = try #require(ConnectionInfo(bytes(mode: 0x6)))
    #expect(link.address.description == "00:AA:01:00:00:42")
    #expect(link.isEncrypted)
    #expect(!link.isCentral)
    let own = try #require(ConnectionInfo(bytes(mode: 0x1)))
    #expect(!own.isEncrypted)
    #expect(own.isCentral)
    #expect(own.type == .le)
    #expect(ConnectionInfo(bytes(type: 1, mode: 0))?.type == .classic)
  }

  /// A connection for voice, one that is not established, and a truncated one.
  @Test("Connections that are not established are left out") func whatIsNoEstablishedLinkIsLeftOut() {
    #expect(ConnectionInfo(bytes(type: 0, mode: 0)) == nil)
    #expect(ConnectionInfo(bytes(state: 5, mode: 0)) == nil)
    #expect(ConnectionInfo(bytes(mode: 0).dropLast()) == nil)
  }
}
