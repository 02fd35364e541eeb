import DeterministicTesting
import Foundation
import JSONValues
import SystemTesting
import Testing

@testable import SpeedTest

/// Bytes of QoS servers, resolvers and kernels that nobody meant.
@Suite("QoS replies that nobody meant") struct QoSFuzzTests {
  private static let inputs =
    ProcessInfo.processInfo.environment["EDGEBLUE_FUZZ_INPUTS"].flatMap { Int($0) } ?? 2000

  private static func changed(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    for _ in 0...Int.random(in: 0...4, using: &random) where !bytes.isEmpty {
      bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(
        in: 0...255, using: &random)
    }
    return Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
  }

  @Test("Bytes of any kind make no trap", .computing) func anything() throws {
    var random = SeededGenerator(seed: 22)
    let query = try #require(DNSQuery(id: 7, name: "www.example.org", type: .mx))
    let record: [UInt8] = [0xc0, 12, 0, 15, 0, 1, 0, 0, 0, 9, 0, 6, 0, 10, 0xc0, 12, 0xc0, 16]
    var response = query.bytes + record
    response[2] = 0x81
    response[7] = 1
    let control: [UInt8] = [40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0]
    let greeting = Array("QoSSP0.1\nACCEPT\nOK\nACCEPT\nRCV 4 0 {\"0\":1} +ID1\n".utf8)
    for _ in 0..<Self.inputs {
      _ = DNSResponse(Self.changed(response, &random), to: query)
      _ = SocketErrorMessage(
        control: Self.changed(control + response, &random))
      var connection = QTPConnection(token: "t")
      for case .reply(_, let text) in (try? connection.receive(Self.changed(greeting, &random)))
        ?? []
      {
        _ = try? QTPReceived(text)
      }
    }
  }

  @Test("Objectives of any kind make no trap, and their times are in range") func objectives() {
    var random = SeededGenerator(seed: 23)
    let values: [JSONValue] = [
      "", "-1", "1e300", "99999999999999999999", 0, .number(Int.max), .number(Int.min), .number(1e300),
      .null, [], [:], true,
    ]
    let names = [
      "qos_test_uid", "concurrency_group", "timeout", "out_port", "in_port", "out_num_packets",
      "delay",
    ]
    for _ in 0..<Self.inputs / 10 {
      var parameters: [String: JSONValue] = ["qos_test_uid": 1]
      for name in names { parameters[name] = values.randomElement(using: &random) }
      let kind = QoSKind.allCases.randomElement(using: &random) ?? .tcp
      let plan = QoSPlan(.object([kind.rawValue: [.object(parameters)]]))
      for objective in plan.groups.joined() {
        #expect(QoSObjective.timeouts.contains(objective.timeout))
        #expect(
          (try? objective.port("out_port")).map { $0.map { (1...65_535).contains($0) } ?? true }
            ?? true)
      }
    }
  }
}
