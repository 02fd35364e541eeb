import Foundation
import Glibc
import JSONValues
import SystemTesting
import Testing

@testable import SpeedTest
@testable import SpeedTestNIO

/// A QoS server written in Python, on free ports.
struct PythonQoS {
  let process: ChildProcess
  /// The ports of the control connection, TCP out, UDP out, the echo of lines, the web server and the resolver.
  let ports: [Int]

  init(_ arguments: [String] = [], folder: String? = nil) async throws {
    let command = UnprivilegedCommand(
      "python3", [Peers.path("qos_server.py")] + arguments, writing: folder.map { [$0] } ?? [])
    process = try ChildProcess(command.program, command.arguments, errors: .discarded)
    ports = try await process.firstLine().split(separator: " ").compactMap { Int($0) }
    try #require(ports.count == 6)
  }

  /// An objective for this server; numbers are strings, as control servers send them.
  func objective(_ kind: QoSKind, _ parameters: [String: String], group: Int = 0) -> (
    QoSKind, JSONValue
  ) {
    var all: [String: JSONValue] = [
      "qos_test_uid": "1", "concurrency_group": .string("\(group)"), "server_addr": "127.0.0.1",
      "server_port": .string("\(ports[0])"), "timeout": "2000000000",
    ]
    for (name, value) in parameters { all[name] = .string(value) }
    return (kind, .object(all))
  }

  /// Runs objectives and returns their results.
  func run(
    _ objectives: [(QoSKind, JSONValue)], token: String = "a_1_b=", isEncrypted: Bool = false,
    certificates: String? = nil
  ) async throws -> [QoSResult] {
    let test = try ControlTest([
      "test_token": .string(token), "test_uuid": "8723358c-2037-4029-a70c-91e5d9d35cf3",
      "test_server_address": "127.0.0.1", "test_server_port": 9,
      "test_server_encryption": .bool(isEncrypted),
    ])
    let lists = Dictionary(grouping: objectives) { $0.0.rawValue }.mapValues {
      JSONValue.array($0.map(\.1))
    }
    let runner = try QoSRunner(test, certificates: certificates)
    let plan = QoSPlan(.object(lists))
    return try await within(.seconds(120), "the QoS tests") { try await runner.run(plan).results }
  }

  /// Runs one objective and returns its result.
  func run(_ kind: QoSKind, _ parameters: [String: String]) async throws -> QoSResult {
    try #require(try await run([objective(kind, parameters)]).first)
  }
}

extension QoSVerdict {
  var isFailure: Bool { if case .failed = self { true } else { false } }
  var reasonNotRun: String? { if case .notRun(let reason) = self { reason } else { nil } }
}
