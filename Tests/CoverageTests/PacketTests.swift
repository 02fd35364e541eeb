import DeterministicTesting
import Testing

@testable import Coverage

/// The numbers are those of the acceptance cases of the facts about coverage clients.
@Suite("The datagrams of pings") struct PacketTests {
  @Test("27, 28: A request is the magic, the sequence and the token") func requests() {
    let token = (1...16).map { UInt8($0) }
    let bytes = PingPacket.request(0x0102_0304, token: token)
    #expect(bytes == Array("RP01".utf8) + [1, 2, 3, 4] + token)
    #expect(bytes.count == PingPacket.requestSize)
    #expect(PingPacket.request(.max, token: token)[4..<8] == [255, 255, 255, 255])
  }

  @Test("29, 30, 33, 34: Replies of other sizes or kinds are none") func replies() {
    #expect(PingPacket.Reply(Array("RR01".utf8) + [0, 0, 1, 2]) == .good(258))
    #expect(PingPacket.Reply(Array("RE01".utf8) + [255, 0, 0, 0]) == .refused(0xff00_0000))
    #expect(PingPacket.Reply(Array("RR01".utf8) + [0, 0, 0, 5, 9, 9]) == .good(5))
    #expect(PingPacket.Reply(Array("RR01".utf8) + [0, 0, 1]) == nil)
    #expect(PingPacket.Reply([UInt8]()) == nil)
    #expect(PingPacket.Reply(Array("RR02".utf8) + [0, 0, 0, 1]) == nil)
    #expect(PingPacket.Reply(Array("RP01".utf8) + [0, 0, 0, 1]) == nil)
  }

  @Test("A reply to a request has its sequence, whatever that is") func roundTrip() {
    var random = SeededGenerator(seed: 18)
    for _ in 0..<1000 {
      let sequence = UInt32.random(in: 0 ... .max, using: &random)
      let request = PingPacket.request(sequence, token: [UInt8](repeating: 0, count: 16))
      #expect(PingPacket.Reply(Array("RR01".utf8) + request[4..<8]) == .good(sequence))
    }
  }
}
