import DBusTesting
import Foundation
import SystemTesting
import Testing

@Suite(
  "The built program at a coordinator, on a bus of its own",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct CoordinatorProgramTests {
  @Test("A result survives kill -9") func aResultOutlivesAKill() async throws {
    let bus = try PrivateBus()
    let state = try Folder()
    try Data("registration-secret\n".utf8).write(to: URL(filePath: state.path + "/token"))
    try await TestCoordinator.run { coordinator in
      let registry = coordinator.registry
      registry.offer(#"{"id":"s1","taskId":"T","input":"Remember this.","timeoutMs":60000}"#)
      // The coordinator never gets the first one.
      coordinator.misbehave("/result", .answers(503, ""))
      let arguments = [
        "agent", "--state", state.path, "--bus", bus.address, "--coordinator", coordinator.address,
        "--test-coordinator",
        "--registration-token-file", state.path + "/token", "--log-level", "trace",
      ]
      let environment = ["DBUS_SYSTEM_BUS_ADDRESS": bus.address, "HOME": state.path]
      let agent = try ChildProcess(program, arguments, environment: environment, output: .kept, errors: .kept)
      // From then on it is on the bus.
      #expect(try await agent.firstLine().contains("mode Off"))
      try await edgeblue(bus, "mode", "on")
      await registry.until { seen in seen.contains { $0.path == "/result" } }
      agent.kill()
      let said = readToEnd(agent.output) + readToEnd(agent.errors)

      let again = try ChildProcess(program, arguments, environment: environment, output: .kept, errors: .kept)
      await registry.until { seen in seen.contains { $0.path == "/result" && $0.status == 200 } }
      let status = try await edgeblue(bus, "status", "--json")
      #expect(status.contains(#""registered":true"#))
      #expect(status.contains(coordinator.address))
      #expect(try await edgeblue(bus, "status").contains("earns rewards"))
      again.signal(SIGTERM)
      #expect(await again.wait() == 0)

      check(registry)
      // Nothing that is secret is told, at whatever level.
      let all = said + readToEnd(again.output) + readToEnd(again.errors)
      #expect(all.contains("registered"))
      #expect(!all.contains("mesh-secret"))
      #expect(!all.contains("registration-secret"))
    }
  }

  private func check(_ registry: Registry) {
    let results = registry.seen.filter { $0.path == "/result" }
    #expect(results.allSatisfy { $0.text("output")?.contains("Remember this.") == true })
    #expect(registry.count("/register") == 1)
    #expect(registry.faults == [])
    #expect(registry.seen[0].text("registrationToken") == "registration-secret")
  }

  @discardableResult
  private func edgeblue(_ bus: PrivateBus, _ arguments: String...) async throws -> String {
    let process = try ChildProcess(program, arguments + ["--bus", bus.address], errors: .discarded)
    let outcome = await process.outcome()
    #expect(outcome.status == 0)
    return outcome.output
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
