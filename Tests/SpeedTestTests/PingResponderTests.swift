import FoundationEssentials
import Testing

@testable import SpeedTest

@Suite struct PingResponderTests {
  private let address: [UInt8] = [UInt8](repeating: 0, count: 10) + [0xff, 0xff, 62, 1, 2, 3]
  /// The token of the key `topsecret` for 62.1.2.3 at 1700000000, as the protocol's description has it.
  private static let token = Data(base64Encoded: "ZVPxAEzErM6+VBk3HmTzPw==").map(Array.init) ?? []
  private let request = Array("RP01".utf8) + [0xde, 0xad, 0xbe, 0xef] + Self.token
  private let number: [UInt8] = [0xde, 0xad, 0xbe, 0xef]

  private func responder() throws -> PingResponder {
    PingResponder(keys: [try SpeedTestKey("another"), try SpeedTestKey("topsecret")])
  }

  @Test("A ping is valid from 30 s before its token's time to 4 h after it", arguments: [-30, 0, 14_400])
  func valid(age: Int64) throws {
    let answer = try responder().answer(to: request, from: address, seconds: 1_700_000_000 + age)
    #expect(answer == .reply(Array("RR01".utf8) + number))
  }

  @Test("A ping outside of that gets no answer", arguments: [-31, 14_401]) func invalid(age: Int64) throws {
    #expect(try responder().answer(to: request, from: address, seconds: 1_700_000_000 + age) == .none)
  }

  @Test("A token for another address is refused") func anotherAddress() throws {
    let answer = try responder().answer(to: request, from: [UInt8](repeating: 1, count: 16), seconds: 1_700_000_000)
    #expect(answer == .refusal(Array("RE01".utf8) + number))
  }

  @Test("A change of any byte of the kind or the token's time is ignored, and so is every other length")
  func ignored() throws {
    for index in [0, 3, 8, 11, 12, 19] {
      var request = request
      request[index] ^= 1
      #expect(try responder().answer(to: request, from: address, seconds: 1_700_000_000) == .none, "byte \(index)")
    }
    for request in [[], Array(request.dropLast()), request + [0]] {
      #expect(try responder().answer(to: request, from: address, seconds: 1_700_000_000) == .none)
    }
  }

  @Test("An open server answers any token, and no other kind of datagram") func open() {
    let open = PingResponder(keys: nil)
    #expect(open.answer(to: request, from: [], seconds: 0) == .reply(Array("RR01".utf8) + number))
    #expect(open.answer(to: Array("RP02".utf8) + request.dropFirst(4), from: [], seconds: 0) == .none)
  }
}
