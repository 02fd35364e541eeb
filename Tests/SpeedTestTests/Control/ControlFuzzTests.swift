import DeterministicTesting
import Foundation
import JSONValues
import SystemTesting
import Testing

@testable import SpeedTest

/// Whatever a control server sends is read, or refused with a typed error.
@Suite("Replies of control servers that nobody meant") struct ControlFuzzTests {
  private static let inputs =
    ProcessInfo.processInfo.environment["EDGEBLUE_FUZZ_INPUTS"].flatMap { Int($0) } ?? 2000

  private static let good = """
    {"settings":[{"uuid":"c373f294-f332-4f1a-999e-a87a12523f4b","terms_and_conditions":{"version":"6","url":"https://x/"},
    "urls":{"url_ipv4_check":"https://x/ip"}}],"test_token":"a_1_b=","test_uuid":"c373f294-f332-4f1a-999e-a87a12523f4b",
    "test_server_address":"h","test_server_port":"443","test_duration":1e2,"test_wait":-1,"error":[],"ip":"1.2.3.4","v":4}
    """

  @Test("Bytes of any kind make no trap, and what is read is in range", .computing) func anything() throws {
    var random = SeededGenerator(seed: 21)
    let good = Array(Self.good.utf8)
    for _ in 0..<Self.inputs {
      var bytes = good
      for _ in 0...Int.random(in: 0...6, using: &random) {
        let place = Int.random(in: bytes.indices, using: &random)
        switch Int.random(in: 0...2, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.insert(Array("{}[]\",:0e-\\".utf8).randomElement(using: &random)!, at: place)
        default: bytes.removeSubrange(place..<min(bytes.count, place + 4))
        }
        if bytes.isEmpty { bytes = [0] }
      }
      Self.read(bytes)
    }
  }

  /// Reads a reply in every way in which replies are read.
  static func read(_ bytes: [UInt8]) {
    guard let answer = try? ControlAnswer(ControlReply(status: 200, body: Data(bytes))) else { return }
    let members = answer.members
    let settings = ControlSettings(members)
    #expect(settings.client.map(ControlIdentifier.isClient) ?? true)
    _ = ControlAddress(members, version: 4)
    guard let test = try? ControlTest(members) else { return }
    #expect((1...65_535).contains(test.port))
    #expect(test.size.seconds.map { SpeedTestPlan.allowedSeconds.contains($0) } ?? true)
    #expect(test.wait >= .zero)
    #expect(test.wait <= .seconds(60))
    #expect(!test.token.contains { $0.isWhitespace })
  }
}
