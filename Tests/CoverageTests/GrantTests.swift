import Foundation
import JSONValues
import Testing

@testable import Coverage

@Suite("The replies of control servers") struct GrantTests {
  private func grant(_ members: String) throws -> CoverageGrant {
    try CoverageGrant(reply: Data(("{" + members + "}").utf8))
  }

  private let token = Data((0..<16).map { UInt8($0) }).base64EncodedString()
  private var whole: String {
    #""test_uuid":"t","loop_uuid":"l","ping_token":"\#(token)","ping_host":"h","ping_port":"444","ip_version":4"#
  }

  @Test("20, 21: A grant names the session, its chain and the server of the pings") func aGrant() throws {
    let grant = try grant(whole)
    #expect(grant.session == "t")
    #expect(grant.loop == "l")
    #expect(grant.pings?.host == "h")
    #expect(grant.pings?.port == 444)
    #expect(grant.pings?.version == 4)
    #expect(grant.pings?.token == (0..<16).map { UInt8($0) })
    let other = try self.grant(#""testUuid":"t","pingToken":"\#(token)","pingHost":"h","pingPort":444"#)
    #expect(other.pings?.version == nil)
    #expect(other.window == .seconds(14_400))
  }

  @Test(
    "The smaller limit is the window, and both are clamped",
    arguments: [
      (#""max_coverage_session_seconds":14400,"max_coverage_measurement_seconds":600"#, 600, 14_400),
      (#""max_coverage_session_seconds":600,"max_coverage_measurement_seconds":"7200""#, 600, 7200),
      (#""max_coverage_session_seconds":14400000,"max_coverage_measurement_seconds":14400000"#, 14_400, 14_400),
      (#""max_coverage_session_seconds":1"#, 30, 30), (#""max_coverage_session_seconds":-5"#, 14_400, 14_400),
      (#""max_coverage_session_seconds":9223372036854775807"#, 14_400, 14_400),
      (#""max_coverage_session_seconds":{}"#, 14_400, 14_400),
    ])
  func limits(_ members: String, _ window: Int, _ run: Int) throws {
    let grant = try grant(whole + "," + members)
    #expect(grant.window == .seconds(window))
    #expect(grant.runLimit == .seconds(run))
  }

  @Test("A token that is no Base64 or has another size is none, and the rest is read") func badTokens() throws {
    for bad in ["???", "", Data([1, 2, 3]).base64EncodedString()] {
      let grant = try grant(#""test_uuid":"t","ping_token":"\#(bad)","ping_host":"h","ping_port":1"#)
      #expect(grant.pings == nil)
    }
  }

  @Test(
    "Replies without what matters are refused",
    arguments: [
      "", #""test_uuid":"""#, #""test_uuid":"a b""#, #""test_uuid":5"#, #""test_uuid":"t""#,
      #""test_uuid":"t","ping_host":"h","ping_port":0,"ping_token":"AAAAAAAAAAAAAAAAAAAAAA==""#,
      #""test_uuid":"t","ping_host":"","ping_port":5,"ping_token":"AAAAAAAAAAAAAAAAAAAAAA==""#,
      #""test_uuid":"t","ping_host":"h","ping_port":70000,"ping_token":"AAAAAAAAAAAAAAAAAAAAAA==""#,
      #""test_uuid":"t","loop_uuid":"\u0000","ping_host":"h","ping_port":7"#,
    ])
  func badReplies(_ members: String) {
    let error = #expect(throws: CoverageError.self) { try grant(members) }
    #expect(error?.code == .invalidReply)
  }

  @Test("Errors are read in both forms, and cut") func errors() {
    #expect(ControlReply(status: 400, body: Data(#"{"error":["a","b"]}"#.utf8)).errors == ["a", "b"])
    #expect(ControlReply(status: 400, body: Data(#"{"error":"a"}"#.utf8)).reason == "a")
    #expect(ControlReply(status: 500, body: Data("<html>".utf8)).reason == "status 500")
    let long = String(repeating: "x", count: 1000)
    #expect(ControlReply(status: 400, body: Data(#"{"error":["\#(long)"]}"#.utf8)).reason.count == 200)
  }
}
