import Agent
import DBus
import DBusTesting
import Foundation
import NetworkPath
import SystemState
import Testing

@testable import edgeblue

@Suite struct AgentTextTests {
  private var status: AgentStatus {
    var counters = AgentStatus.Counters()
    (counters.starts, counters.failures, counters.downgrades) = (3, 1, 1)
    return AgentStatus(
      mode: .bluetoothLocal, cause: .networkLoss, runOnlyWhileCharging: true, runState: .blocked(.notCharging),
      network: .init(status: .unsatisfied, reason: "there is no default route"),
      power: PowerTelemetry(onExternalPower: false, batteryLevelPct: 41, lowPowerMode: false, updatedAtMs: 5),
      counters: counters, lastFailure: "the phone service has failed: no adapter\u{1b}[2J", eventCount: 9)
  }

  @Test func forPeople() {
    #expect(
      status.lines == [
        "Mode          Bluetooth Local, by itself, since the network went away: compute is offered to machines near by "
          + "over Bluetooth, and earns no rewards",
        "State         blocked: it is to run on external power only; connect power to start",
        "Network       no way out: there is no default route", "Power         battery, the battery at 41 %",
        "On battery    nothing runs", "Since start   3 starts, 1 failures, 1 times from On to Bluetooth Local",
        "Last failure  the phone service has failed: no adapter\u{fffd}[2J",
      ])
    let on = AgentStatus(mode: .on, runState: .running, network: .init(status: .satisfied, interface: "eth0"))
    #expect(on.lines.prefix(3).contains { $0.contains("earns rewards") } && on.lines[2] == "Network       through eth0")
  }

  @Test func forPrograms() {
    #expect(
      JSON.object(status.json).text == """
        {"cause":"network-loss","counters":{"downgrades":1,"failures":1,"savesFailed":0,"starts":3},"eventCount":9,\
        "lastFailure":"the phone service has failed: no adapter\\u001b[2J","mode":"bluetooth-local",\
        "network":{"interface":null,"reason":"there is no default route","status":"unsatisfied"},\
        "powerTelemetry":{"batteryLevelPct":41,"lowPowerMode":false,"onExternalPower":false,"updatedAtMs":5},\
        "reason":"not_charging","runOnlyWhileCharging":true,"runState":"blocked","storageProblem":null}
        """)
    #expect(
      JSON.object(AgentEvent(number: 7, atMs: 5, kind: .chosen, text: "x").json).text
        == #"{"atMs":5,"kind":"chosen","number":7,"text":"x"}"#)
  }
}

/// The program as it was built, on a bus of its own and without a radio.
@Suite(
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(3)))
struct AgentProgramTests {
  @Test func aPersonChoosesAndItHoldsAfterAKill() async throws {
    let bus = try PrivateBus()
    let state = FileManager.default.temporaryDirectory.appending(path: "edgeblue-agent-\(UUID().uuidString.prefix(8))")
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: state) } }
    let arguments = ["agent", "--state", state.path, "--bus", bus.address]
    #expect(try await run(bus, ["status"]).status == ExitStatus.unavailable.rawValue)

    let agent = try ChildProcess(program, arguments, environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
    #expect(try agent.firstLine().contains("mode Off"))
    // No bluetoothd is on this bus: what cannot run is not said to.
    let chosen = try await run(bus, ["mode", "local", "--only-while-charging", "no", "--json"])
    #expect(chosen.status == 0 && chosen.output.contains(#""mode":"bluetooth-local""#))
    #expect(!chosen.output.contains(#""runState":"running""#))
    #expect(try await run(bus, ["mode", "local"]).output.contains("earns no rewards"))
    let second = try await run(bus, Array(arguments.dropLast(2)))
    #expect(second.status == ExitStatus.unavailable.rawValue)

    agent.kill()
    let again = try ChildProcess(program, arguments, environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
    #expect(try again.firstLine().contains("mode Bluetooth Local"))
    let events = try await run(bus, ["events"])
    #expect(events.output.contains("a person has chosen the mode Bluetooth Local"))
    again.signal(SIGTERM)
    #expect(again.wait() == 0)
  }

  private func run(_ bus: PrivateBus, _ arguments: [String]) async throws -> (status: Int32, output: String) {
    let process = try ChildProcess(
      program, arguments + ["--bus", bus.address], environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address],
      errors: .discarded)
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let output = readToEnd(process.output)
        continuation.resume(returning: (process.wait(), output))
      }
    }
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
