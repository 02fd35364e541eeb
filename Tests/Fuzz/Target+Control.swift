import Foundation
import JSONValues

@testable import SpeedTest

extension Target {
  /// The replies of control servers, QoS servers and resolvers, and the files of submissions.
  static let control = [
    Target(
      "control-reply",
      texts: [
        #"{"settings":[{"uuid":"c373f294-f332-4f1a-999e-a87a12523f4b","terms_and_conditions":{"version":"6"}}],"error":[]}"#,
        #"{"test_token":"a_1_b=","test_uuid":"c373f294-f332-4f1a-999e-a87a12523f4b","test_server_address":"h","#
          + #""test_server_port":"443","test_wait":"2","test_duration":7,"error":"no"}"#,
        #"{"objectives":{"tcp":[{"qos_test_uid":"1","concurrency_group":"2","timeout":"5000000000","out_port":"80"}]}}"#,
      ]
    ) { bytes in
      let answer = try ControlAnswer(ControlReply(status: 200, body: Data(bytes)))
      _ = ControlSettings(answer.members)
      for objective in QoSPlan(answer.members["objectives"] ?? .null).groups.joined() {
        require(QoSObjective.timeouts.contains(objective.timeout), "a timeout out of its range")
        if let port = try objective.port("out_port") { require((1...65_535).contains(port), "a port that is none") }
      }
      let test = try ControlTest(answer.members)
      require(!test.token.contains { $0.isWhitespace }, "a token that begins a command")
      require(test.wait <= .seconds(60), "a wait of \(test.wait)")
    },
    Target("qos-server", texts: ["QoSSP0.1\nACCEPT [TOKEN string]\nOK\nACCEPT\nRCV 4 0 {\"0\":364000} +ID7\n"]) {
      bytes in
      var connection = QTPConnection(token: "t")
      for case .reply(_, let text) in try connection.receive(bytes) { _ = try QTPReceived(text) }
    },
    Target("dns-response", seeds: [dnsResponse]) { bytes in
      for type in DNSRecordType.allCases {
        guard let query = DNSQuery(id: 7, name: "www.example.org", type: type) else { continue }
        require(DNSResponse(bytes, to: query)?.entries.count ?? 0 <= 200, "more records than the limit")
      }
    },
    Target(
      "socket-error",
      seeds: [
        [40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0, 113, 0, 0, 0, 2, 11, 0, 0] + [UInt8](repeating: 2, count: 24)
      ]
    ) { bytes in
      var route = TracerouteRoute(limit: 3)
      if let message = SocketErrorMessage(control: bytes) { route.handle(.message(message, nanoseconds: 1)) }
      for hop in route.hops { _ = TracerouteRoute.text(hop.address, isMasked: true) }
    },
    Target("submission-file", texts: [submission]) { bytes in
      guard var submission = SubmissionOutbox.decode(Data(bytes)) else { return }
      for event: Submission.Event in [
        .begin, .lost("l"), .begin, .looked(isThere: false), .replied(status: 400, errors: []),
      ] {
        _ = submission.handle(event)
      }
    },
  ]

  private static var dnsResponse: [UInt8] {
    guard let query = DNSQuery(id: 7, name: "www.example.org", type: .mx) else { return [] }
    var bytes = query.bytes + [0xc0, 12, 0, 15, 0, 1, 0, 0, 0, 9, 0, 4, 0, 10, 0xc0, 12]
    bytes[2] = 0x81
    bytes[7] = 1
    return bytes
  }

  private static var submission: String {
    let value = Submission(
      kind: .qos, test: "c373f294-f332-4f1a-999e-a87a12523f4b", server: "https://h", url: "https://h/resultQoS",
      createdMs: 1, document: "{}")
    // A value of these types is always JSON.
    return (try? JSONEncoder().encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }
}
