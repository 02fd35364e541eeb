import Foundation
import SystemTesting
import Testing

/// The command in a network with two routers, at a control server that requests routes.
@Suite(
  "Routes through a network", .enabled(if: Peers.isThere, "needs python3"),
  .enabled(if: RoutedPath.isPermitted, "needs ip, and root"),
  .enabled(
    if: FileManager.default.isExecutableFile(atPath: Peers.program),
    "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct RoutedPathTests {
  @Test("Each router is a hop, without privileges, and a mask hides the last part of each")
  func routes() async throws {
    let objectives = """
      {"traceroute":[{"qos_test_uid":"1","host":"198.51.100.2","max_hops":"9"},{"qos_test_uid":"2","host":"198.51.100.2",
      "max_hops":"2"}],"traceroute_masked":[{"qos_test_uid":"3","host":"198.51.100.2"}],
      "udp":[{"qos_test_uid":"4","out_port":"1024","out_num_packets":"1"}]}
      """
    let output = try await RoutedPath.run(objectives)
    let value = try #require(
      try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
    let qos = try #require(value["qos"] as? [String: Any])
    let tests = try #require(qos["tests"] as? [[String: Any]])
    func hosts(_ objective: Int) throws -> [String] {
      let test = try #require(tests.first { $0["objective"] as? Int == objective })
      let values = try #require(test["values"] as? [String: Any])
      return (values["traceroute_result_details"] as? [[String: Any]] ?? []).compactMap {
        $0["host"] as? String
      }
    }
    #expect(try hosts(1) == ["192.0.2.1", "203.0.113.2", "198.51.100.2"])
    #expect(try hosts(2) == ["192.0.2.1", "203.0.113.2"])
    #expect(try hosts(3) == ["192.0.2.x", "203.0.113.x", "198.51.100.x"])
    #expect(qos["passed"] as? Int == 2)
    #expect(qos["failed"] as? Int == 1)
    #expect(qos["notRun"] as? Int == 1)
  }
}

/// The script that makes the network.
private enum RoutedPath {
  static let isPermitted: Bool = {
    guard ChildProcess.path(of: "ip") != nil, ChildProcess.path(of: "nsenter") != nil else {
      return false
    }
    do {
      return try ChildProcess("unshare", ["--net", "true"], output: .discarded, errors: .discarded)
        .wait() == 0
    } catch {
      return false
    }
  }()

  /// Runs a test with objectives in the network, beside servers on its loopback interface.
  static func run(_ objectives: String) async throws -> String {
    let folder = NSTemporaryDirectory() + "edgeblue-routed-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Data(objectives.utf8).write(to: URL(filePath: folder + "/objectives.json"))
    let process = try ChildProcess(
      "unshare",
      [
        "--net", Peers.path("routed-path"), Peers.path("controlled"), Peers.program, folder,
      ], errors: .kept)
    let outcome = try await within(.seconds(200), "a test in a routed network") {
      await process.outcome()
    }
    #expect(outcome.status == 0, "\(outcome.errors)")
    return outcome.output
  }
}
