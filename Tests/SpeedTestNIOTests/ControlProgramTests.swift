import Foundation
import Glibc
import SystemTesting
import Testing

@testable import SpeedTest
@testable import SpeedTestNIO

extension LinkTests {
  /// The command beside a control server that was written in Python from the description of the API.
  @Suite(
    "The command `edgeblue speedtest --control`", .enabled(if: Peers.isThere, "needs python3"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: Peers.program), "needs the command: swift build"),
    .timeLimit(.minutes(5)))
  struct ControlProgramTests {
    @Test("Each test is granted, run and submitted once, also when a reply is lost") func twoTests() async throws {
      let control = try await PythonControl(["--fault", "lost-result", "--terms"]) {
        """
        {"traceroute":[{"qos_test_uid":"3","host":"127.0.0.1"}],"tcp":[{"qos_test_uid":"4","out_port":"1"}]}
        """
      }
      let first = try await control.run(["--control", control.url, "--accept-terms"])
      #expect(first.status == 0, "\(first.errors)")
      #expect((first.value["submission"] as? [String: Any])?["state"] as? String == "waiting")
      #expect(first.value["failure"] is NSNull)
      let address = try #require((first.value["addresses"] as? [[String: Any]])?.first)
      #expect(address["external"] as? String == "127.0.0.1")
      #expect(address["translated"] as? Bool == false)
      #expect(try await control.run(["submit", "--list"]).value["attempts"] as? Int == 1)
      // The next test confirms the first one, too.
      let second = try await control.run(["--control", control.url, "--qos"])
      let qos = try #require(second.value["qos"] as? [String: Any])
      #expect(qos["passed"] as? Int == 1)
      #expect(qos["notRun"] as? Int == 1)
      #expect((second.value["qosSubmission"] as? [String: Any])?["state"] as? String == "submitted")
      #expect((second.value["submission"] as? [String: Any])?["state"] as? String == "submitted")
      #expect(second.value["number"] as? Int == 2)
      let requests = try control.requests("/testRequest")
      #expect(requests.map { $0["testCounter"] as? Int } == [0, 1])
      #expect(requests.map { $0["previousTestStatus"] as? String } == ["NONE", "ERROR_SUBMIT"])
      #expect(Set(requests.compactMap { $0["uuid"] as? String }).count == 1)
      #expect(try control.requests("/result").count == 3)
      let results = try #require(try control.requests("/resultQoS").first?["qos_result"] as? [[String: Any]])
      #expect(results.map { $0["qos_test_uid"] as? Int } == [3])
      #expect(try control.tests().map { $0["results"] as? Int } == [1, 1])
      #expect(try await control.run(["submit"]).value.isEmpty)
      let stored = try await control.run(["show", "2"]).value
      #expect((stored["qos"] as? [String: Any])?["passed"] as? Int == 1)
      #expect((stored["control"] as? [String: Any])?["address"] as? String == control.url + "/RMBTControlServer")
    }

    @Test("A program that is killed while it submits loses nothing") func killed() async throws {
      let control = try await PythonControl(["--fault", "result-silent"])
      let process = try control.start()
      try await eventually("the result at the server", within: .seconds(120)) {
        try control.requests("/result").count == 1
      }
      process.signal(SIGKILL)
      await process.wait()
      let other = try await control.restarted()
      defer { other.kill() }
      #expect(try await control.run(["submit"]).status == 0)
      #expect(try control.tests().map { $0["results"] as? Int } == [1])
    }

    @Test("Each test of a loop is granted and submitted once, also when a reply is lost") func loop() async throws {
      let control = try await PythonControl(["--fault", "lost-result", "--terms"]) {
        #"{"tcp":[{"qos_test_uid":"4","out_port":"1"}]}"#
      }
      let words = ["start", "--control", control.url, "--seconds", "1", "--tests", "2", "--delay-seconds", "1"]
      let refused = try await control.loop(words + ["--unattended"])
      #expect(refused.status == 77)
      #expect(refused.errors.contains("--accept-terms"))
      #expect(try await control.loop(["status"]).status == 69)
      let ended = try await control.loop(words + ["--unattended", "--accept-terms", "--qos"])
      #expect(ended.status == 0, "\(ended.errors)")
      let requests = try control.requests("/testRequest").compactMap { $0["loopmode_info"] as? [String: Any] }
      #expect(requests.map { $0["test_counter"] as? Int } == [1, 2])
      #expect(requests.map { $0["max_tests"] as? Int } == [2, 2])
      #expect(Set(requests.compactMap { $0["loop_uuid"] as? String }).count == 1)
      #expect(try control.tests().map { $0["results"] as? Int } == [1, 1])
      #expect(try control.requests("/resultQoS").count == 2)
      let stored = try await control.run(["show", "2"]).value
      #expect((stored["loop"] as? [String: Any])?["test"] as? Int == 2)
      #expect((stored["qos"] as? [String: Any])?["notRun"] as? Int == 1)
      #expect((stored["control"] as? [String: Any])?["address"] as? String == control.url + "/RMBTControlServer")
      #expect(try await control.run(["submit", "--list"]).value.isEmpty)
    }

    @Test("Terms are accepted by an option alone, and an unknown server is an error") func terms() async throws {
      let control = try await PythonControl(["--terms"])
      let refused = try await control.run(["--control", control.url])
      #expect(refused.status == 77)
      #expect(refused.errors.contains("--accept-terms"))
      #expect(try control.requests("/testRequest").isEmpty)
      let closed = try await control.run(["--control", "http://127.0.0.1:1"])
      #expect(closed.status == 69)
    }
  }
}

/// Replies to the request for a test that no control server means, at the library.
@Suite("Control servers with a fault", .enabled(if: Peers.isThere, "needs python3"), .timeLimit(.minutes(5)))
struct ControlFaultTests {
  private static let all: [(name: String, code: SpeedTestError.Code)] = [
    ("test-silent", .timedOut), ("test-drip", .timedOut), ("test-endless", .invalidReply), ("test-html", .invalidReply),
    ("test-deep", .invalidReply), ("test-list", .invalidReply), ("test-bytes", .invalidReply),
    ("test-hangup", .connectionClosed), ("test-500", .declined), ("test-redirect", .declined),
    ("error-in-200", .declined), ("missing", .invalidReply), ("newline-in-token", .invalidReply),
  ]

  @Test("Each fault is a typed error within the limit", arguments: all)
  func faults(fault: String, code: SpeedTestError.Code) async throws {
    let control = try await PythonControl(["--fault", fault])
    // Long enough for a busy machine where the fault is to be seen before the limit.
    let limit = Duration.seconds(code == .timedOut ? 2 : 20)
    let client = try ControlClient(
      address: control.url, transport: try ControlHTTPTransport(limit: limit),
      device: ControlDevice(
        osVersion: "Linux", model: "test", language: "en", timezone: "UTC", softwareVersion: "1.0.0"),
      folder: control.folder)
    _ = try await client.settings()
    let error = await #expect(throws: SpeedTestError.self) {
      try await within(.seconds(30), "a request with the fault \(fault)") { try await client.requestTest() }
    }
    #expect(error?.code == code, "\(String(describing: error))")
  }

  @Test("A server that is not there, or is no HTTP server, is a typed error") func notThere() async throws {
    let transport = try ControlHTTPTransport(limit: .seconds(5))
    let closed = await #expect(throws: SpeedTestError.self) {
      try await transport.post("http://127.0.0.1:1/settings", body: Data("{}".utf8))
    }
    #expect(closed?.code == .unreachable)
    let measurement = try await PythonServer([])
    let other = await #expect(throws: SpeedTestError.self) {
      try await transport.post("http://127.0.0.1:\(measurement.port)/settings", body: Data("{}".utf8))
    }
    // The server closes at the first line that it does not know, and its reset may arrive before its greeting is read.
    #expect([.invalidReply, .connectionClosed].contains(other?.code))
  }

  @Test("The address of this machine is the one on the way to another") func localAddresses() {
    #expect(LocalAddress.toward("127.0.0.1") == "127.0.0.1")
    #expect(LocalAddress.toward("host") == nil)
    #expect(LocalAddress.toward("") == nil)
  }
}
