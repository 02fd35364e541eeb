import Agent
import AudioIngestTesting
import DBusTesting
import Foundation
import JSONValues
import NetworkPath
import SystemState
import SystemTesting
import Testing

@testable import edgeblue

@Suite("The text of the agent's status") struct AgentTextTests {
  private var status: AgentStatus {
    var counters = AgentStatus.Counters()
    counters.starts = 3
    counters.failures = 1
    counters.downgrades = 1
    var status = AgentStatus(
      mode: .bluetoothLocal, cause: .networkLoss, runOnlyWhileCharging: true, runState: .blocked(.notCharging),
      network: .init(status: .unsatisfied, reason: "there is no default route"))
    status.power = PowerTelemetry(onExternalPower: false, batteryLevelPct: 41, lowPowerMode: false, updatedAtMs: 5)
    status.counters = counters
    status.lastFailure = "the phone service has failed: no adapter\u{1b}[2J"
    status.eventCount = 9
    return status
  }

  @Test("The status is printed in lines") func forPeople() {
    #expect(
      status.lines == [
        "Mode          Bluetooth Local (chosen is On, which the loss of the network changed): compute is offered to machines "
          + "near by over Bluetooth, and earns no rewards",
        "State         blocked: services run on external power only; connect power to start",
        "Phase         unknown", "Network       no default route: there is no default route",
        "Power         battery power, battery level 41 %",
        "On battery    does not run", "Since start   3 starts, 1 failures, 1 changes from On to Bluetooth Local",
        "Last failure  the phone service has failed: no adapter\u{fffd}[2J",
      ])
    let on = AgentStatus(mode: .on, runState: .running, network: .init(status: .satisfied, interface: "eth0"))
    #expect(on.lines.prefix(3).contains { $0.contains("earns rewards") })
    #expect(on.lines[3] == "Network       default route on eth0")
    let asleep = LifecycleSnapshot(phase: .suspending, reason: .sleep, choice: .background)
    let suspending = AgentStatus(mode: .on, lifecycle: asleep)
    #expect(suspending.lines[2] == "Phase         suspending: the host is about to sleep; background is selected")
    #expect(asleep.text == "suspending: the host is about to sleep; background is selected")
  }

  @Test("A background task is printed on one line, and as JSON") func tasksForPeopleAndPrograms() {
    var task = AgentTaskStatus("io.edgecoder.ios.heartbeat", .refresh)
    #expect(task.line == "io.edgecoder.ios.heartbeat not pending")
    task.wait = .milliseconds(899_500)
    task.obstacle = .foreground
    #expect(
      task.line == "io.edgecoder.ios.heartbeat pending, due in 899 s; waits: the program is in the foreground")
    task.wait = .zero
    task.obstacle = nil
    task.failed = 2
    task.problem = "no default route\u{1b}"
    #expect(task.line == "io.edgecoder.ios.heartbeat pending, due; 0 completed, 2 failed; last: no default route\u{1b}")
    #expect(
      JSONValue.object(task.json).line == """
        {"completed":0,"failed":2,"identifier":"io.edgecoder.ios.heartbeat","kind":"refresh","obstacle":null,\
        "overdue":false,"problem":"no default route\\u001b","running":false,"waitMs":0}
        """)
    task.isRunning = true
    #expect(task.line.contains(" running; 0 completed"))
  }

  @Test("The status of the coordinator is printed in lines, and as JSON") func withACoordinator() {
    var swarm = CoordinatorStatus(
      address: "https://c.example", agentID: "board-0a1b2c", isRegistered: true, problem: "503\u{1b}")
    swarm.jobsDone = 7
    swarm.jobsFailed = 1
    swarm.jobsCancelled = 2
    swarm.resultsWaiting = 2
    swarm.heldBecause = "low_power_mode"
    swarm.dropReasons = ["low_power_mode": 3, "model_not_ready": 12]
    var status = AgentStatus(mode: .on, runState: .running)
    status.coordinator = swarm
    let lines = status.lines
    #expect(
      lines.filter { ["Coord", "Tasks", "Resul", "Not a"].contains($0.prefix(5)) } == [
        "Coordinator   https://c.example, enrolled as board-0a1b2c: 503\u{fffd}",
        "Tasks         7 done, 1 failed, 2 cancelled; none requested: the machine is in low power mode",
        "Results       2 waiting, 0 rejected by the coordinator",
        "Not assigned  model_not_ready 12×, low_power_mode 3×",
      ])
    #expect(
      JSONValue.object(swarm.json).line == """
        {"address":"https://c.example","agentId":"board-0a1b2c","dropReasons":{"low_power_mode":3,"model_not_ready":12},\
        "heartbeatsFailed":0,"heldBecause":"low_power_mode","jobsCancelled":2,"jobsDone":7,"jobsFailed":1,"lastHeartbeatAtMs":null,"nextHeartbeatAtMs":null,\
        "problem":"503\\u001b","registered":true,"resultsUnwanted":0,"resultsWaiting":2,"unreachableBecause":null,\
        "unreachableSinceMs":null,"workedMs":0,"working":false}
        """)
  }

  @Test("The status and events are printed as JSON") func forPrograms() {
    #expect(
      JSONValue.object(status.json).line == """
        {"cause":"network-loss","chosenMode":"on","coordinator":null,"counters":{"downgrades":1,"failures":1,"savesFailed":0,"starts":3},"coverage":null,"eventCount":9,\
        "lastFailure":"the phone service has failed: no adapter\\u001b[2J","lifecycle":null,"loop":null,"mode":"bluetooth-local",\
        "network":{"interface":null,"metered":false,"reason":"there is no default route","status":"unsatisfied"},\
        "powerTelemetry":{"batteryLevelPct":41,"lowPowerMode":false,"onExternalPower":false,"updatedAtMs":5},\
        "reason":"not_charging","runOnlyWhileCharging":true,"runState":"blocked","storageProblem":null,"uploads":null}
        """)
    #expect(
      JSONValue.object(AgentEvent(number: 7, atMs: 5, kind: .chosen, text: "x").json).line
        == #"{"atMs":5,"kind":"chosen","number":7,"text":"x"}"#)
  }
}

@Suite(
  "The built program, on a bus of its own and without a radio",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct AgentProgramTests {
  @Test("A selected mode persists when the agent is killed") func aPersonChoosesAndItHoldsAfterAKill() async throws {
    let bus = try PrivateBus()
    let state = FileManager.default.temporaryDirectory.appending(path: "edgeblue-agent-\(UUID().uuidString.prefix(8))")
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: state) } }
    let arguments = ["agent", "--state", state.path, "--bus", bus.address]
    #expect(try await run(bus, ["status"]).status == ExitStatus.unavailable.rawValue)

    let agent = try ChildProcess(program, arguments, environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
    #expect(try await agent.firstLine().contains("mode Off"))
    // No bluetoothd is on this bus: what cannot run is not said to.
    let chosen = try await run(bus, ["mode", "local", "--only-while-charging", "no", "--json"])
    #expect(chosen.status == 0)
    #expect(chosen.output.contains(#""mode":"bluetooth-local""#))
    #expect(!chosen.output.contains(#""runState":"running""#))
    #expect(try await run(bus, ["mode", "local"]).output.contains("earns no rewards"))
    let second = try await run(bus, Array(arguments.dropLast(2)))
    #expect(second.status == ExitStatus.unavailable.rawValue)

    agent.kill()
    let again = try ChildProcess(program, arguments, environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
    #expect(try await again.firstLine().contains("mode Bluetooth Local"))
    let events = try await run(bus, ["events"])
    #expect(events.output.contains("the user chose the mode Bluetooth Local"))
    again.signal(SIGTERM)
    #expect(await again.wait() == 0)
  }

  @Test("An agent without a message bus starts, says so, and can be controlled when there is one")
  func aBusThatComesLater() async throws {
    let folder = try TemporaryFolder()
    let later = folder.path + "/bus"
    let agent = try ChildProcess(
      program, ["agent", "--state", folder.path + "/state", "--bus", "unix:path=\(later)"],
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(later)"])
    #expect(try await agent.firstLine().contains("no message bus"))
    #expect(try await agent.firstLine().contains("mode Off"))
    let bus = try PrivateBus()
    try FileManager.default.createSymbolicLink(
      atPath: later, withDestinationPath: String(bus.address.dropFirst("unix:path=".count)))
    #expect(try await until(bus, ["status"]) { $0.contains("Mode") }.contains("Off"))
    agent.signal(SIGTERM)
    #expect(await agent.wait() == 0)
  }

  @Test("On without a real engine is refused with the reason, and nothing is sent to the coordinator")
  func onNeedsAnEngine() async throws {
    let bus = try PrivateBus()
    let state = FileManager.default.temporaryDirectory.appending(path: "edgeblue-agent-\(UUID().uuidString.prefix(8))")
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: state) } }
    let agent = try ChildProcess(
      program, ["agent", "--state", state.path, "--bus", bus.address, "--coordinator", "https://coordinator.invalid"],
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
    _ = try await agent.firstLine()
    _ = try await run(bus, ["mode", "on"])
    let log = try await until(bus, ["events"]) { $0.contains("no engine is configured") }
    #expect(log.contains("--engine ollama"))
    // Who would register needs an identity.
    #expect(!FileManager.default.fileExists(atPath: state.path + "/identity.json"))
    agent.signal(SIGTERM)
    #expect(await agent.wait() == 0)
  }

  /// In the background tasks are pending, run, and are told to end; and after a kill they are pending again.
  @Test("Pending tasks persist when the agent is killed") func tasksOutliveAKill() async throws {
    let bus = try PrivateBus()
    let state = FileManager.default.temporaryDirectory.appending(path: "edgeblue-agent-\(UUID().uuidString.prefix(8))")
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: state) } }
    let arguments = ["agent", "--state", state.path, "--bus", bus.address]
    let environment = ["DBUS_SYSTEM_BUS_ADDRESS": bus.address]
    let agent = try ChildProcess(program, arguments, environment: environment)
    _ = try await agent.firstLine()
    _ = try await run(bus, ["mode", "local"])
    #expect(try await run(bus, ["lifecycle"]).output == "foreground: there is no session to follow\n")
    #expect(try await run(bus, ["tasks"]).output.split(separator: "\n").allSatisfy { $0.hasSuffix("not pending") })

    let chosen = try await run(bus, ["lifecycle", "background", "--json"])
    #expect(chosen.output == #"{"choice":"background","phase":"background","reason":"person"}"# + "\n")
    #expect(try await run(bus, ["status"]).output.contains("Phase         background: the user has chosen it"))
    // The runtime begins after a second.
    let began = try await until(bus) { $0.contains("io.edgecoder.ios.runtime   running") }
    #expect(began.contains("io.edgecoder.ios.heartbeat pending, due in"))
    let busy = try await run(bus, ["tasks", "run", "heartbeat"])
    #expect(busy.status == ExitStatus.tryAgain.rawValue)
    #expect(try await run(bus, ["tasks", "run", "nothing"]).status == ExitStatus.badInput.rawValue)
    #expect(try await run(bus, ["tasks", "expire", "runtime"]).status == 0)
    _ = try await until(bus) { $0.contains("1 completed, 0 failed") }

    agent.kill()
    let again = try ChildProcess(program, arguments, environment: environment)
    _ = try await again.firstLine()
    #expect(try await run(bus, ["lifecycle"]).output == "background: the user has chosen it\n")
    let kept = try await run(bus, ["tasks"]).output
    #expect(kept.contains("heartbeat pending, due in 8"))
    #expect(!kept.contains("not pending"))
    let events = try await run(bus, ["events"]).output
    #expect(events.split(separator: "\n").count { $0.contains("is pending") } == 2, "none of them anew")
    _ = try await run(bus, ["mode", "off"])
    _ = try await until(bus) { $0.split(separator: "\n").allSatisfy { $0.contains("not pending") } }
    again.signal(SIGTERM)
    #expect(await again.wait() == 0)
  }

  /// logind announces the sleep, the task that runs ends, and only then the machine sleeps.
  @Test(
    "System sleep waits for a running background task",
    .enabled(if: RealLogind.isPermitted, "needs root and systemd-logind"))
  func sleepWaitsForATaskThatRuns() async throws {
    let logind = try await RealLogind()
    let state = FileManager.default.temporaryDirectory.appending(path: "edgeblue-agent-\(UUID().uuidString.prefix(8))")
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: state) } }
    let agent = try ChildProcess(
      program, ["agent", "--state", state.path, "--bus", logind.bus.address],
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": logind.bus.address], errors: .discarded)
    _ = try await agent.firstLine()
    _ = try await run(logind.bus, ["mode", "local"])
    _ = try await run(logind.bus, ["lifecycle", "background"])
    _ = try await until(logind.bus) { $0.contains("io.edgecoder.ios.runtime   running") }
    try await logind.until(["sleep EdgeBlue a background task runs delay"])

    try await logind.suspend()
    #expect(await logind.nextUnit() == "suspend.target")
    #expect(try await logind.inhibitors().isEmpty)
    let phase = try await run(logind.bus, ["lifecycle"]).output
    #expect(phase == "suspending: the host is about to sleep; background is selected\n")
    let tasks = try await run(logind.bus, ["tasks"]).output
    #expect(tasks.contains("waits: the host is about to sleep; 1 completed, 0 failed"))
    #expect(try await run(logind.bus, ["tasks", "run", "runtime"]).status == ExitStatus.tryAgain.rawValue)
    try logind.wake()
    while try await run(logind.bus, ["lifecycle"]).output != "background: the user has chosen it\n" {}
    agent.signal(SIGTERM)
    #expect(await agent.wait() == 0)
  }

  /// What a command prints, once it is as wanted.
  private func until(
    _ bus: PrivateBus, _ words: [String] = ["tasks", "list"], _ isWanted: (String) -> Bool
  ) async throws -> String {
    while true {
      let output = try await run(bus, words).output
      if isWanted(output) { return output }
    }
  }

  private func run(_ bus: PrivateBus, _ arguments: [String]) async throws -> (status: Int32, output: String) {
    let process = try ChildProcess(
      program, arguments + ["--bus", bus.address], environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address],
      errors: .discarded)
    let outcome = await process.outcome()
    return (outcome.status, outcome.output)
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
