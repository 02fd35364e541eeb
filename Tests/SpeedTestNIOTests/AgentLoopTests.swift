import DBusTesting
import Foundation
import Glibc
import Logging
import SpeedTestNIO
import SystemTesting
import Testing

/// The command `edgeblue agent --loop` on a bus of its own, beside a server.
private final class LoopAgent: Sendable {
  let bus: PrivateBus
  let state = NSTemporaryDirectory() + "edgeblue-agent-loop-\(UUID().uuidString)"
  let server: SpeedTestServer

  init() async throws {
    bus = try PrivateBus()
    server = try await .start(.init(address: "127.0.0.1", port: 0, access: .open), logger: Logger(label: "test"))
  }

  func close() async throws {
    await server.stop()
    try FileManager.default.removeItem(atPath: state)
  }

  func start() async throws -> ChildProcess {
    let environment = ["DBUS_SYSTEM_BUS_ADDRESS": bus.address, "HOME": state]
    let agent = try ChildProcess(
      Peers.program, ["agent", "--loop", "--engine", "echo", "--state", state, "--bus", bus.address],
      environment: environment, output: .kept, errors: .discarded)
    #expect(try await agent.firstLine().contains("mode Off"))
    return agent
  }

  /// Stores a loop of short tests, with a second between them, that waits for somebody.
  func store(tests: Int) async throws -> Int32 {
    try await loop(
      "start", "--later", "--server", "127.0.0.1:\(server.port)", "--threads", "1", "--seconds", "1", "--no-upload",
      "--tests", "\(tests)", "--delay-seconds", "1", "--retry-seconds", "1"
    ).status
  }

  func loop(_ words: String...) async throws -> (status: Int32, output: String, errors: String) {
    try await ChildProcess(Peers.program, ["loop"] + words + ["--state", state + "/speedtest"], errors: .kept).outcome()
  }

  func ask(_ words: String...) async throws -> String {
    let outcome = try await ChildProcess(Peers.program, words + ["--bus", bus.address], errors: .kept).outcome()
    #expect(outcome.status == 0, "\(words): \(outcome.errors)")
    return outcome.output
  }

  /// The status of the loop as the bus has it.
  func status() async throws -> [String: Any] {
    let output = try await ask("status", "--json")
    let status = try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
    return status["loop"] as? [String: Any] ?? [:]
  }

  func until(_ state: String) async throws -> [String: Any] {
    let end = ContinuousClock.now + .seconds(240)
    while ContinuousClock.now < end {
      let status = try await status()
      if status["state"] as? String == state { return status }
    }
    throw TestTimeout("the loop was never \(state)")
  }
}

extension LinkTests {
  @Suite(
    "The loop of the agent", .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: Peers.program), "needs the command: swift build"),
    .timeLimit(.minutes(5)))
  struct AgentLoopTests {
    @Test("The agent runs a stored loop, and the chosen phase says whether somebody is there")
    func phases() async throws {
      let fixture = try await LoopAgent()
      let agent = try await fixture.start()
      #expect(try await fixture.until("none")["tests"] as? Int == 0)
      #expect(try await fixture.store(tests: 2) == 0)
      // The agent is not in a session, so that nobody is there.
      let waiting = try await fixture.until("ready")
      #expect(waiting["begun"] as? Int == 0)
      #expect(waiting["tests"] as? Int == 2)
      #expect(try await fixture.store(tests: 2) == 75)
      _ = try await fixture.ask("lifecycle", "foreground")
      _ = try await fixture.until("testing")
      _ = try await fixture.ask("lifecycle", "background")
      // The test was aborted, and counts; the next one is due, and waits.
      let aborted = try await fixture.until("ready")
      #expect(aborted["outcomes"] as? [String: Int] == ["abortedBackgrounded": 1])
      #expect(try await fixture.loop("status").output.contains("Program    the agent"))
      _ = try await fixture.ask("lifecycle", "foreground")
      let over = try await fixture.until("completed")
      #expect(over["outcomes"] as? [String: Int] == ["abortedBackgrounded": 1, "completed": 1])
      let text = try await fixture.ask("status")
      #expect(text.contains("Loop          completed, 2 of 2 tests have begun; abortedBackgrounded 1×"))
      agent.signal(SIGTERM)
      #expect(await agent.wait() == 0)
      try await fixture.close()
    }

    @Test("A stop ends the loop and not the agent, and an agent that was killed continues its loop")
    func stop() async throws {
      let fixture = try await LoopAgent()
      var agent = try await fixture.start()
      #expect(try await fixture.store(tests: 9) == 0)
      _ = try await fixture.ask("lifecycle", "foreground")
      _ = try await fixture.until("testing")
      agent.kill()
      await agent.wait()
      agent = try await fixture.start()
      let continued = try await fixture.until("testing")
      #expect((continued["begun"] as? Int ?? 0) <= 2)
      let stopped = try await fixture.loop("stop")
      #expect(stopped.status == 0, "\(stopped.errors)")
      #expect(stopped.output.contains("The loop is stopped after"))
      #expect(try await fixture.until("stopped")["problem"] is NSNull)
      #expect(try await fixture.loop("stop").output.contains("over already"))
      agent.signal(SIGTERM)
      #expect(await agent.wait() == 0)
      try await fixture.close()
    }
  }
}
