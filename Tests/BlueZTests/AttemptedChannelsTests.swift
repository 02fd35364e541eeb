import DBus
import Testing

@testable import BlueZ

@Suite("Attempted channels") struct AttemptedChannelsTests {
  private func ends(_ number: Int) throws -> ChannelEnds {
    let text = "00:AA:01:00:00:" + (number < 16 ? "0" : "") + String(number, radix: 16)
    let peer = try #require(BluetoothAddress(text.uppercased()))
    let own = try #require(BluetoothAddress("00:AA:01:01:00:00"))
    return ChannelEnds(adapter: "/org/bluez/hci0", own: own, ownType: .public, peer: peer, peerType: .random)
  }

  @Test("The ends of a channel are known until bluetoothd restarts") func untilARestart() throws {
    var attempts = AttemptedChannels()
    #expect(attempts.ends(of: "/org/bluez/hci0/dev_1", in: 0) == nil)
    attempts.note("/org/bluez/hci0/dev_1", try ends(1), in: 0)
    #expect(try attempts.ends(of: "/org/bluez/hci0/dev_1", in: 0) == ends(1))
    #expect(attempts.ends(of: "/org/bluez/hci0/dev_1", in: 1) == nil)
    attempts.note("/org/bluez/hci0/dev_2", try ends(2), in: 1)
    #expect(attempts.ends(of: "/org/bluez/hci0/dev_1", in: 1) == nil)
    #expect(attempts.ends(of: "/org/bluez/hci0/dev_2", in: 0) == nil)
  }

  @Test("Only the devices that were tried last are remembered") func aBoundedMemory() throws {
    var attempts = AttemptedChannels()
    func path(_ number: Int) -> ObjectPath { ObjectPath(stringLiteral: "/org/bluez/hci0/dev_\(number)") }
    for number in 0..<AttemptedChannels.limit { attempts.note(path(number), try ends(number), in: 0) }
    // The oldest one is tried again, so that another one is the oldest.
    attempts.note(path(0), try ends(0), in: 0)
    attempts.note(path(200), try ends(200), in: 0)
    #expect(attempts.ends(of: path(0), in: 0) != nil)
    #expect(attempts.ends(of: path(1), in: 0) == nil)
    #expect(attempts.ends(of: path(2), in: 0) != nil)
    #expect(try attempts.ends(of: path(200), in: 0) == ends(200))
  }
}
