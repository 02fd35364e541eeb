import DBus
import DBusTesting
import Foundation
import Streams
import SystemTesting
import Testing

@testable import Agent

@Suite(
  "The agent's D-Bus interface, as our client and other programs see it",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"), .timeLimit(.minutes(5)))
struct AgentControlTests {
  /// A bus, an agent on it, and a client.
  private func served(
    _ record: ModeRecord, _ body: @escaping @Sendable (Fixture, AgentClient, PrivateBus) async throws -> Void
  ) async throws {
    let bus = try PrivateBus()
    let fixture = Fixture(record)
    let control = try await AgentControl.open(fixture, on: bus)
    let client = try await AgentClient.open(on: .address(bus.address))
    try await fixture.running { fixture in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await control.run() }
        group.addTask { try await body(fixture, client, bus) }
        try await group.next()
        group.cancelAll()
      }
    }
  }

  private var coordinatorStatus: CoordinatorStatus {
    var swarm = CoordinatorStatus(
      address: "c", agentID: "a", isRegistered: true, lastHeartbeatAtMs: 5, nextHeartbeatAtMs: 6, problem: "p")
    swarm.isWorking = true
    swarm.jobsDone = 1
    swarm.jobsFailed = 2
    swarm.jobsCancelled = 6
    swarm.resultsUnwanted = 3
    swarm.resultsWaiting = 4
    swarm.heldBecause = "h"
    swarm.dropReasons = ["h": 5]
    return swarm
  }

  private var loopStatus: SpeedTestLoopStatus {
    var loop = SpeedTestLoopStatus(state: "waiting", begun: 2, tests: 20, outcomes: ["failed": 1], dueAtMs: 8)
    loop.problem = "p"
    return loop
  }

  @Test("A client reads and controls the whole agent over the bus") func aPersonControlsItAndReadsAllOfIt() async throws
  {
    try await served(ModeRecord()) { fixture, client, _ in
      #expect(try await client.status() == fixture.status)
      await fixture.runner.take(Fixture.wired)
      await fixture.runner.take(Fixture.power(true))
      let swarm = coordinatorStatus
      await fixture.runner.take(swarm)
      #expect(try await client.choose(.on).coordinator == swarm)
      var uploads = UploadsStatus(
        items: ["waiting": 3, "failed": 1], bytesLeft: 5, oldestAtMs: 6, isPaused: true, counters: ["attempts": 7],
        failures: ["network": 2])
      uploads.problem = "p"
      await fixture.runner.take(uploads)
      #expect(try await client.status().uploads == uploads)
      let loop = loopStatus
      await fixture.runner.take(loop)
      #expect(try await client.status().loop == loop)
      await fixture.works(.heartbeat)
      await fixture.runner.take(Fixture.lost)
      await fixture.works(.phone)
      fixture.phone.order(.fail("no adapter"))
      await fixture.until { $0.runState == .failed(because: "no adapter") }
      fixture.floor.fillDisk(true)
      let status = try await client.setRunOnlyWhileCharging(true)
      #expect(status == fixture.status)
      #expect(status.storageProblem != nil)
      #expect(status.lastFailure != nil)
      #expect(status.cause == .networkLoss)
      #expect(status.network?.reason != nil)
      #expect(status.power?.batteryLevelPct == 50)
      #expect(status.counters.downgrades == 1)
      #expect(status.counters.starts == 2)
      await fixture.runner.take(Fixture.power(false))
      #expect(try await client.status().runState == .blocked(.notCharging))
      #expect(try await client.events() == fixture.runner.log.newest())
      #expect(try await client.events(limit: 2) == fixture.runner.log.newest(2))
    }
  }

  @Test("A client reads the coverage measurement, and everybody the part without session and problem")
  func coverage() async throws {
    try await served(ModeRecord()) { fixture, client, bus in
      let connection = try await bus.connect()
      let everybody = RemoteObject(connection, AgentBus.name, AgentBus.path)
      #expect(try await client.status().coverage == nil)
      #expect(try await everybody.getAll(AgentBus.interface)["CoverageState"] == nil)
      var coverage = CoverageMeasurementStatus(state: "measuring")
      coverage.technology = "4G/LTE"
      coverage.fences = 3
      coverage.pings = ["answered": 58, "lost": 2, "stalled": 1]
      coverage.session = "u1"
      coverage.waiting = 4
      coverage.sendings = ["delivered": 5, "failed": 6]
      coverage.problem = "p"
      await fixture.runner.take(coverage)
      #expect(try await client.status().coverage == coverage)
      let properties = try await everybody.getAll(AgentBus.interface)
      #expect(properties["CoverageTechnology"]?.string == "4G/LTE")
      #expect(properties["CoveragePings"]?.counts == coverage.pings)
      #expect(properties["CoverageSession"] == nil)
      #expect(properties["CoverageProblem"]?.string == AgentStatus.hidden)
    }
  }

  @Test("Changes are published on the bus") func whatChangesIsTold() async throws {
    try await served(ModeRecord()) { fixture, client, bus in
      let connection = try await bus.connect()
      let events = try await connection.signals(MatchRule(interface: "io.edgecoder.Agent1", member: "Event"))
      let seen = BoundedStream.make(of: AgentStatus.self, limit: 64)
      let follower = Task { try await client.follow { seen.source.yield($0) } }
      var statuses = seen.stream.makeAsyncIterator()
      #expect(await statuses.next()?.mode == .off)
      await fixture.runner.choose(.bluetoothLocal)
      while let status = await statuses.next(), status.runState != .starting {}
      await fixture.works(.phone)
      while let status = await statuses.next(), status.runState != .running {}
      var iterator = events.makeAsyncIterator()
      let first = await iterator.next().flatMap { AgentEvent(values: $0.arguments) }
      #expect(first == fixture.runner.log.newest().first { $0.kind == .chosen })
      follower.cancel()
      await #expect(throws: CancellationError.self) { try await follower.value }
    }
  }

  /// What changes before the agent begins to tell is told when it does.
  @Test("A client misses no change after its first status") func nothingIsMissedAtTheBeginning() async throws {
    let bus = try PrivateBus()
    let fixture = Fixture(ModeRecord())
    let control = try await AgentControl.open(fixture, on: bus)
    let connection = try await bus.connect()
    let changes = try await connection.signals(
      MatchRule(interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged"))
    await fixture.runner.choose(.on)
    let run = Task { try await control.run() }
    var iterator = changes.makeAsyncIterator()
    let change = try #require(await iterator.next())
    #expect(change.arguments[1].properties?["Mode"] == "on")
    run.cancel()
    try await run.value
  }

  @Test("A lost bus ends the agent") func whoCanNoLongerBeControlledEnds() async throws {
    let bus = try PrivateBus()
    let control = try await AgentControl.open(Fixture(ModeRecord()), on: bus)
    let run = Task { try await control.run() }
    bus.kill()
    let error = await #expect(throws: AgentError.self) { try await run.value }
    #expect(error?.code == .busLost)
  }

  @Test("Values outside the allowed range are rejected") func whatCannotBeIsRefused() async throws {
    try await served(ModeRecord()) { fixture, client, bus in
      let connection = try await bus.connect()
      let agent = RemoteObject(connection, AgentBus.name, AgentBus.path)
      let error = await #expect(throws: DBusError.self) { try await agent.call(AgentBus.interface, "SetMode", "turbo") }
      #expect(error?.name == "io.edgecoder.Agent1.Error.InvalidArgument")
      await #expect(throws: DBusError.self) { try await agent.set(AgentBus.interface, "Mode", "on") }
      #expect(fixture.status.mode == .off)

      let second = await #expect(throws: AgentError.self) {
        _ = try await AgentControl.open(fixture, on: bus)
      }
      #expect(second?.code == .alreadyRunning)
    }
  }

  @Test("A client without an agent throws notRunning") func withoutAnAgent() async throws {
    let bus = try PrivateBus()
    let client = try await AgentClient.open(on: .address(bus.address))
    let calls: [@Sendable () async throws -> Void] = [
      { _ = try await client.status() }, { _ = try await client.choose(.on) }, { try await client.follow { _ in } },
    ]
    for call in calls {
      let error = await #expect(throws: AgentError.self) { try await call() }
      #expect(error?.code == .notRunning)
      #expect(error?.message == "no agent runs")
    }
  }

  /// GLib's own reader of D-Bus finds what the contract says, nothing more and nothing less.
  @Test(
    "gdbus accepts the introspection data of the agent's contract",
    .enabled(if: ChildProcess.path(of: "gdbus") != nil, "needs gdbus"))
  func gdbusReadsTheContract() async throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    let contracts = try ["io.edgecoder.Agent1", "io.edgecoder.Tasks1", "io.edgecoder.AgentDetails1"].map {
      ($0, try String(contentsOf: root.appending(path: "dbus/\($0).xml"), encoding: .utf8))
    }
    try await served(ModeRecord(mode: .bluetoothLocal)) { fixture, _, bus in
      let told = try await gdbus(bus, "introspect", "--xml")
      for (name, contract) in contracts {
        #expect(declarations(of: name, in: told) == declarations(of: name, in: contract))
        #expect(declarations(of: name, in: contract).count >= 3)
      }
      _ = try await gdbus(bus, "call", "--method", "io.edgecoder.Agent1.SetMode", "'off'")
      await fixture.until { $0.mode == .off }
      let events = try await gdbus(bus, "call", "--method", "io.edgecoder.Agent1.GetEvents", "1")
      #expect(events.contains("'chosen', 'the user chose the mode Off'"))
      let tasks = try await gdbus(bus, "call", "--method", "io.edgecoder.Tasks1.GetTasks")
      #expect(tasks.contains("'Identifier': <'io.edgecoder.ios.runtime'>"))
    }
  }

  private func gdbus(_ bus: PrivateBus, _ verb: String, _ rest: String...) async throws -> String {
    // Its own limit for a call, 25 s, is that of the reply; a busy machine may need it for the programs alone.
    let limit = verb == "call" ? ["--timeout", "240"] : []
    let process = try ChildProcess(
      "gdbus",
      [verb, "--address", bus.address, "--dest", AgentBus.name, "--object-path", AgentBus.path.description] + limit
        + rest)
    return await process.outcome().output
  }
}

extension AgentControl {
  /// Puts a fixture on a bus, with tasks and a phase of its own.
  fileprivate static func open(_ fixture: Fixture, on bus: PrivateBus) async throws -> AgentControl {
    let background = try TasksFixture(log: fixture.runner.log)
    return try await open(
      fixture.runner, tasks: background.tasks, lifecycle: try await background.lifecycle(), on: .address(bus.address))
  }
}

/// What an interface in introspection XML declares, each line with the member it belongs to.
private func declarations(of interface: String, in xml: String) -> [String] {
  let text = xml.replacing(#/<!--(?s:.*?)-->/#, with: "")
  guard let begin = text.firstRange(of: "<interface name=\"\(interface)\">"),
    let end = text[begin.upperBound...].firstRange(of: "</interface>")
  else { return [] }
  // Members in any order, arguments in theirs.
  var members: [String] = []
  for match in text[begin.upperBound..<end.lowerBound].matches(of: #/<(method|signal|property|arg) ([^>]*?)\/?>/#) {
    let attributes = match.2.matches(of: #/(\w+)="([^"]*)"/#).map { "\($0.1)=\($0.2)" }.sorted()
    let line = "\(match.1) \(attributes.joined(separator: " "))"
    if match.1 == "arg", let last = members.popLast() {
      members.append("\(last), \(line)")
    } else {
      members.append(line)
    }
  }
  return members.sorted()
}
