import Foundation
import JSONValues
import Testing

@testable import SpeedTest

/// The tests that a control server requests.
@Suite("Objectives of QoS tests") struct QoSPlanTests {
  private static func plan(_ text: String) throws -> QoSPlan {
    QoSPlan(try JSONValue(parsing: Array(text.utf8)))
  }

  @Test("Groups run in ascending order of their numbers, which are strings") func groups() throws {
    let plan = try Self.plan(
      """
      {"tcp":[{"qos_test_uid":"1","concurrency_group":"200"},{"qos_test_uid":"2","concurrency_group":"10"}],
      "dns":[{"qos_test_uid":"3","concurrency_group":"200"},{"qos_test_uid":"4"}],
      "UDP":[{"qos_test_uid":5,"concurrency_group":10}],"echo":[{"qos_test_uid":"6"}],"voip":[{"no":"uid"}]}
      """)
    #expect(plan.groups.map { $0.map(\.id).sorted() } == [[4], [2, 5], [1, 3]])
    #expect(plan.count == 5)
    #expect(plan.unknownKinds == ["echo"])
  }

  @Test("Times are nanoseconds, and are moved into the allowed range") func times() throws {
    let plan = try Self.plan(
      """
      {"tcp":[{"qos_test_uid":"1","timeout":"5000000000"},{"qos_test_uid":"2","timeout":"9223372036854775807"},
      {"qos_test_uid":"3","timeout":"1"},{"qos_test_uid":"4","timeout":"soon"},{"qos_test_uid":"5","timeout":-1}]}
      """)
    let timeouts = try #require(plan.groups.first).sorted { $0.id < $1.id }.map(\.timeout)
    #expect(timeouts == [.seconds(5), .seconds(60), .milliseconds(100), .seconds(5), .seconds(5)])
  }

  @Test("A port that is none is refused, and one that is missing is none") func ports() throws {
    let objective = try #require(
      QoSObjective(.tcp, ["qos_test_uid": 1, "out_port": "65536", "in_port": "0"]))
    #expect(throws: SpeedTestError.self) { try objective.port("out_port") }
    #expect(try objective.port("in_port") == nil)
    #expect(try objective.port("port") == nil)
    #expect(objective.repeated("out_port", "timeout") == ["tcp_objective_out_port": 65536])
  }

  @Test("A report counts what passed, failed and could not run, and submits what ran") func report()
    async throws
  {
    let objective = try #require(QoSObjective(.dns, ["qos_test_uid": 7]))
    let report = QoSReport([
      QoSResult(objective, target: "a", .passed, ["dns_result_info": "OK"]),
      QoSResult(objective, target: "b", .failed("no answer"), ["dns_result_info": "TIMEOUT"]),
      QoSResult(objective, target: "c", .notRun("no resolver")),
    ])
    #expect(report.passed == 1)
    #expect(report.failed == 1)
    #expect(report.notRun == 1)
    #expect(try JSONDecoder().decode(QoSReport.self, from: JSONEncoder().encode(report)) == report)
    let folder = try TemporaryFolder()
    let server = FakeControlServer { path, _ in
      ControlReply(
        path == "/settings"
          ? #"{"settings":[{"uuid":"8723358c-2037-4029-a70c-91e5d9d35cf3"}]}"# : "{}")
    }
    let client = try server.client(folder)
    _ = try await client.settings()
    let test = try ControlTest([
      "test_token": "a_1_b=_#v2#x", "test_uuid": "8723358c-2037-4029-a70c-91e5d9d35cf3",
      "test_server_address": "h",
      "test_server_port": 443,
    ])
    let outbox = SubmissionOutbox(path: folder.path + "/submissions")
    try client.enqueue(report, of: test, in: outbox)
    #expect(try await outbox.submit(by: server).map(\.outcome) == [.submitted])
    let body = try #require(server.bodies("/resultQoS").first)
    #expect(body["test_token"] == "a_1_b=_#v2#x")
    #expect(body["qos_result"]?.elements?.map { $0["dns_result_info"] } == ["OK", "TIMEOUT"])
    #expect(body["qos_result"]?.elements?.first?["test_type"] == "dns")
    #expect(body["qos_result"]?.elements?.first?["qos_test_uid"] == 7)
  }
}
