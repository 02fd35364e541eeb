import DBusTesting
import Foundation
import Streams
import SystemTesting
import Testing

/// Everything that an agent leaves on disk while it works for a coordinator, with what was said looked for in it.
@Suite(
  "Prompts and replies of a coordinator's tasks on disk",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct DiskAttacks {
  /// In the prompt and, because the engine repeats it, once in the reply.
  private static let mark = "MARKED-PROMPT"
  private let bus: PrivateBus
  private let folder: Folder

  init() throws {
    bus = try PrivateBus()
    folder = try Folder()
    for name in ["home", "tmp", "run"] {
      try FileManager.default.createDirectory(atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
    }
  }

  /// Starts a command whose working folder, home, temporary files and output are in the folder.
  private func start(_ words: [String]) throws -> ChildProcess {
    try ChildProcess(
      "sh", ["-c", #"cd "$0/run" && exec "$@" >>said 2>&1"#, folder.path, program] + words + ["--bus", bus.address],
      environment: [
        "DBUS_SYSTEM_BUS_ADDRESS": bus.address, "HOME": folder.path + "/home", "TMPDIR": folder.path + "/tmp",
        "PATH": "/usr/bin:/bin",
      ])
  }

  private func startAgent(_ coordinator: TestCoordinator) async throws -> ChildProcess {
    let agent = try start(
      [
        "agent", "--state", folder.path + "/home/agent", "--coordinator", coordinator.address, "--test-coordinator",
        "--log-level", "trace",
      ])
    try await eventually("the agent is on") { await (try start(["mode", "on"])).outcome().status == 0 }
    return agent
  }

  /// Returns how often each file below the folder has what was said.
  private func marks() throws -> [String: Int] {
    var marks: [String: Int] = [:]
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
      guard let data = FileManager.default.contents(atPath: "\(folder.path)/\(path)") else { continue }
      let count = String(decoding: data, as: UTF8.self).components(separatedBy: Self.mark).count - 1
      if count > 0 { marks[path] = count }
    }
    return marks
  }

  /// Expects that nothing on disk has what was said but the reply, once, in the one result that waits.
  private func expectOneResult() throws {
    let marks = try marks()
    #expect(marks.count == 1, "\(marks)")
    #expect(marks.allSatisfy { $0.key.hasPrefix("home/agent/results/") }, "\(marks)")
    #expect(marks.allSatisfy { $0.value == 1 }, "\(marks)")
  }

  @Test("An agent writes nothing of a coordinator's tasks but results, until those are delivered")
  func onlyResultsAreWritten() async throws {
    try await TestCoordinator.run { coordinator in
      let registry = coordinator.registry
      registry.offer(#"{"id":"s1","taskId":"T","input":"Tell me a \#(Self.mark).","timeoutMs":60000}"#)
      let (gate, opening) = BoundedStream.make(of: Void.self, limit: 1)
      coordinator.misbehave("/result", .stalls(until: { for await _ in gate {} }))
      let agent = try await startAgent(coordinator)
      await registry.until { seen in seen.contains { $0.path == "/result" } }
      try expectOneResult()
      agent.kill()
      await agent.wait()
      try expectOneResult()
      opening.finish()

      let again = try await startAgent(coordinator)
      await registry.until { seen in seen.count { $0.path == "/result" && $0.status == 200 } == 2 }
      try await eventually("the result is delivered") { try marks().isEmpty }
      again.signal(SIGTERM)
      #expect(await again.wait() == 0)
      #expect(try marks() == [:])
      #expect(registry.seen.contains { $0.text("output")?.contains(Self.mark) == true })
      let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
      #expect(Set(names).isSuperset(of: ["run/said", "home/agent/events.jsonl", "home/agent/results"]), "\(names)")
    }
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../.build/debug/edgeblue").standardized.path
