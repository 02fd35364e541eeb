import Agent
import DBus
import EdgeCoder
import Foundation
import Testing

/// The agent as a person runs it, with a network of its own that goes away.
extension RadioTests {
  @Suite("The agent's modes, over the radio") struct AgentModes {
    private static let policy = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../dbus/io.edgecoder.Agent1.conf").standardized.path

    /// Nobody does anything but take the network away. Also: who may control the agent, and what is left after a kill.
    @Test(
      "Without a network the agent answers over the air",
      .enabled(if: Radio.isLab, Radio.labNeeded), .enabled(if: Command.isBuilt, Command.needed),
      .timeLimit(.minutes(5)))
    func withoutANetworkTheAgentAnswersOverTheAir() async throws {
      try await shell("cp \(Self.policy) /etc/dbus-1/system.d/")
      try await Connection.open().call(
        "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ReloadConfig")
      let state = FileManager.default.temporaryDirectory.appending(path: "agent-\(UUID().uuidString.prefix(8))")
      try await withNamespace("agent") { try await Self.check(state.path) }
      try FileManager.default.removeItem(at: state)
    }

    private static func check(_ state: String) async throws {
      try await withCentral(on: Radio.mac) { central in
        let agent = try start(state)
        _ = try await agent.line(with: "mode Off, state in")
        #expect(try await edgeblue("mode on") == 0)
        // It does not claim to run what it cannot.
        _ = try await agent.line(with: "no coordinator is configured")
        let client = try await AgentClient.open()
        let on = try await client.status()
        #expect(on.mode == .on)
        #expect(on.runState.name == "failed")
        #expect(on.network?.interface == "up0")
        // Everybody may look, and not everybody may choose.
        #expect(try await edgeblue("status", as: "setpriv --reuid 65534 --regid 65534 --clear-groups") == 0)
        #expect(try await edgeblue("mode off", as: "setpriv --reuid 65534 --regid 65534 --clear-groups") == 77)

        let begin = ContinuousClock.now
        try await shell("ip -n agent route del default")
        _ = try await agent.line(with: "the phone service works")
        let advertised = begin.duration(to: .now)
        try await central.waitForPhones()
        let connected = begin.duration(to: .now)
        #expect(try await central.generate(prompt: "hello", maxTokens: nil).answer.output.contains("hello"))
        let answered = begin.duration(to: .now)
        let events = try await client.events()
        let downgraded = try #require(events.first { $0.kind == .downgraded })
        let works = try #require(events.filter { $0.number > downgraded.number }.first { $0.kind == .started })
        print("route removed; advertised after \(advertised), ready \(connected), answered \(answered)")
        print("of that, from the downgrade to the advertisement: \(works.atMs - downgraded.atMs) ms")
        let local = try await client.status()
        #expect(local.mode == .bluetoothLocal)
        #expect(local.cause == .networkLoss)
        #expect(local.runState == .running)
        #expect(local.counters.downgrades == 1)
        #expect(local.network?.reason == "there is no default route")

        // Only a person goes back to On.
        try await shell("ip -n agent route add default via 192.0.2.1")
        _ = try await agent.line(with: "choose On to rejoin the swarm")
        #expect(try await client.status().mode == .bluetoothLocal)

        agent.kill()
        try await continues(state, central, client)
      }
    }

    /// After a kill the agent has the mode it had, and the phone is back.
    private static func continues(_ state: String, _ central: Central, _ client: AgentClient) async throws {
      let again = try start(state)
      _ = try await again.line(with: "mode Bluetooth Local, state in")
      _ = try await again.line(with: "the phone service works")
      #expect(try await central.askUntilAnswered("again", within: .seconds(60)).answer.output.contains("again"))
      #expect(try await client.events().contains { $0.kind == .downgraded })
      #expect(try await again.end() == 0)
      await #expect(throws: AgentError.self) { try await client.status() }
    }

    private static func start(_ state: String) throws -> Subprocess {
      try Subprocess(
        "/usr/bin/env",
        [
          "nsenter", "--net=/run/netns/agent", Command.path, "agent", "--state", state, "--adapter", Radio.phone,
          "--network-grace", "0", "--network-settle", "0",
        ])
    }

    /// - Returns: the exit status.
    private static func edgeblue(_ arguments: String, as user: String = "env") async throws -> Int32 {
      try await Subprocess.run("/bin/sh", ["-c", "exec \(user) \(Command.path) \(arguments)"])
    }
  }
}
