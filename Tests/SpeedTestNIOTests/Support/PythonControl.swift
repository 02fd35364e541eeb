import Foundation
import SystemTesting
import Testing

/// A control server written in Python, beside a measurement server written in Python.
final class PythonControl: Sendable {
  let folder = NSTemporaryDirectory() + "edgeblue-control-\(UUID().uuidString)"
  private let measurement: PythonServer
  private let process: ChildProcess
  /// A port that no other program takes while the server restarts.
  private let port: UInt16

  /// Starts both.
  /// - Parameters:
  ///   - arguments: The arguments of the control server.
  ///   - objectives: The QoS tests that it requests.
  init(_ arguments: [String] = [], objectives: () -> String = { "{}" }) async throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(objectives().utf8).write(to: URL(filePath: folder + "/objectives.json"))
    measurement = try await PythonServer([])
    port = try LoopbackPort.free()
    process = try await Self.start(folder, measurement.port, port, arguments)
  }

  deinit {
    process.kill()
    do { try FileManager.default.removeItem(atPath: folder) } catch { Issue.record("\(error)") }
  }

  /// Ends the control server, and starts one at the same port that knows its tests.
  func restarted(_ arguments: [String] = []) async throws -> ChildProcess {
    process.kill()
    await process.wait()
    return try await Self.start(folder, measurement.port, port, arguments)
  }

  private static func start(
    _ folder: String, _ measurement: Int, _ port: UInt16, _ arguments: [String]
  ) async throws -> ChildProcess {
    let process = try ChildProcess(
      "python3",
      [
        Peers.path("control_server.py"), "--measurement", "\(measurement)", "--port", "\(port)", "--state",
        folder + "/server.json", "--log", folder + "/log", "--objectives", folder + "/objectives.json",
      ] + arguments, errors: .discarded)
    try #require(Int(try await process.firstLine()) != nil)
    return process
  }

  var url: String { "http://127.0.0.1:\(port)" }

  /// Starts a test that this server grants.
  func start(_ words: [String] = []) throws -> ChildProcess {
    try ChildProcess(
      Peers.program, ["speedtest", "--control", url, "--state", folder + "/state", "--json"] + words, errors: .kept)
  }

  /// Runs a command to its end, and returns the last object that it prints.
  func run(_ words: [String]) async throws -> (status: Int32, value: [String: Any], errors: String) {
    let process = try ChildProcess(
      Peers.program, ["speedtest"] + words + ["--state", folder + "/state", "--json"], errors: .kept)
    return try Self.value(of: try await within(.seconds(120), "speedtest \(words)") { await process.outcome() })
  }

  /// Runs a command of loops to its end.
  func loop(_ words: [String]) async throws -> (status: Int32, output: String, errors: String) {
    let process = try ChildProcess(
      Peers.program, ["loop"] + words + ["--state", folder + "/state", "--json"], errors: .kept)
    return try await within(.seconds(200), "loop \(words)") { await process.outcome() }
  }

  static func value(
    of outcome: (status: Int32, output: String, errors: String)
  ) throws -> (status: Int32, value: [String: Any], errors: String) {
    let line = outcome.output.split(separator: "\n").last.map(String.init) ?? "{}"
    let value = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    return (outcome.status, try #require(value), outcome.errors)
  }

  /// The bodies of the requests to a path, in their order.
  func requests(_ path: String) throws -> [[String: Any]] {
    guard FileManager.default.fileExists(atPath: folder + "/log") else { return [] }
    let text = try String(contentsOfFile: folder + "/log", encoding: .utf8)
    // The last line may be incomplete.
    return text.split(separator: "\n").compactMap { line in
      let value = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return value?["path"] as? String == path ? value?["body"] as? [String: Any] : nil
    }
  }

  /// The tests by what the server stores of them.
  func tests() throws -> [[String: Any]] {
    let data = try Data(contentsOf: URL(filePath: folder + "/server.json"))
    let state = try #require(try JSONSerialization.jsonObject(with: data) as? [Any])
    return try #require(state.last as? [String: [String: Any]]).values.map { $0 }
  }
}
