import BackgroundTasks
import DBus
import DBusTesting
import Foundation
import Streams
import SystemTesting
import Testing

@testable import Agent

/// Users of the host who read all that the agent tells the bus.
@Suite(
  "What everybody may read on the bus",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"), .timeLimit(.minutes(5)))
struct BusAttacks {
  /// The agent with marked texts wherever a path, an address, an identifier or a text of a server can be.
  private func mark(_ fixture: Fixture) async {
    var swarm = CoordinatorStatus(address: "https://MARKED.example", agentID: "MARKED-1", problem: "401 MARKED")
    swarm.heldBecause = "MARKED_reason"
    swarm.dropReasons = ["MARKED_reason": 2, "low_power_mode": 1]
    await fixture.runner.take(swarm)
    var uploads = UploadsStatus(items: ["waiting": 1])
    uploads.problem = "MARKED denied"
    await fixture.runner.take(uploads)
    var loop = SpeedTestLoopStatus(state: "waiting", begun: 1, tests: 2)
    loop.problem = "MARKED is not there"
    await fixture.runner.take(loop)
    var coverage = CoverageMeasurementStatus(state: "failed")
    coverage.session = "MARKED-session"
    coverage.problem = "MARKED/coverage.sqlite"
    await fixture.runner.take(coverage)
    await fixture.runner.take(Fixture.wired)
    await fixture.runner.choose(.bluetoothLocal)
    await fixture.works(.phone)
    fixture.phone.order(.fail("MARKED failure"))
    await fixture.until { $0.lastFailure?.contains("MARKED") == true }
    for kind in ["coordinator", "storage", "task", "failed", "of-another-version"] {
      fixture.runner.log.append(AgentEvent.Kind(rawValue: kind), "MARKED \(kind)")
    }
  }

  /// Marks what an agent tells that publishes, and waits until all of it is heard on the bus.
  private func mark(_ fixture: Fixture, until heard: Lock<[Signal]>) async throws {
    let log = fixture.runner.log
    // Events from before the agent publishes are in the log only.
    try await eventually("events are published") {
      log.append(.storage, "MARKED")
      return heard.withLock { $0.contains { $0.member == "Event" } }
    }
    await mark(fixture)
    let last = try #require(log.newest(1).first).number
    try await eventually("the last event and a change of a property are heard") {
      heard.withLock { heard in
        heard.contains { $0.member == "PropertiesChanged" }
          && heard.contains { $0.member == "Event" && $0.arguments.first == .uint64(UInt64(last)) }
      }
    }
  }

  @Test("No path, address, identifier or text of a server is public, and the owner reads all of them")
  func nothingMarkedIsPublic() async throws {
    let bus = try PrivateBus()
    let fixture = Fixture(ModeRecord())
    let background = try TasksFixture(log: fixture.runner.log)
    let control = try await AgentControl.open(
      fixture.runner, tasks: background.tasks, lifecycle: try await background.lifecycle(), on: .address(bus.address))
    let connection = try await bus.connect()
    let heard = Lock<[Signal]>([])
    let watch = try await connection.observe(MatchRule(path: AgentBus.path)) { signal in
      heard.withLock { $0.append(signal) }
    }
    defer { watch.cancel() }
    try await fixture.running { fixture in
      let publishing = Task { try await control.run() }
      try await mark(fixture, until: heard)
      let agent = RemoteObject(connection, AgentBus.name, AgentBus.path)
      let properties = try await agent.getAll(AgentBus.interface)
      #expect(properties["DropReasons"]?.counts == ["low_power_mode": 1, "other": 2])
      #expect(properties["Registered"] != nil)
      let events = "\(try await agent.call(AgentBus.interface, "GetEvents", .uint32(512)))"
      #expect(events.contains("a service has failed"))
      let tasks = "\(try await agent.call(AgentBus.tasks, "GetTasks"))"
      for text in ["\(properties)", events, tasks] + heard.withLock({ $0.map { "\($0)" } }) {
        #expect(!text.contains("MARKED"), "\(text)")
      }
      try await expectDetails(agent)
      let client = try await AgentClient.open(on: .address(bus.address))
      #expect(try await client.status() == fixture.status)
      publishing.cancel()
      try await publishing.value
    }
  }

  private func expectDetails(_ agent: RemoteObject) async throws {
    let status = "\(try await agent.call(AgentBus.details, "GetStatus"))"
    for mark in [
      "https://MARKED.example", "MARKED-1", "401 MARKED", "MARKED_reason", "MARKED denied", "MARKED failure",
      "MARKED-session", "MARKED/coverage.sqlite",
    ] {
      #expect(status.contains(mark), "\(mark)")
    }
    let events = "\(try await agent.call(AgentBus.details, "GetEvents", .uint32(512)))"
    #expect(events.contains("MARKED storage"))
  }

  /// Every local user reads metrics, too.
  @Test("No path, address, identifier or text of a server is in the metrics") func nothingMarkedIsMeasured()
    async throws
  {
    let fixture = Fixture(ModeRecord())
    try await fixture.running { fixture in
      await mark(fixture)
      let text = Metric.text(of: fixture.runner.status.metrics)
      #expect(text.contains("edgeblue_coordinator_drops_total{reason=\"low_power_mode\"} 1"))
      #expect(text.contains("edgeblue_coordinator_drops_total{reason=\"other\"} 2"))
      #expect(!text.contains("MARKED"), "\(text)")
    }
  }

  @Test("The reason of a task's failure is for the owner") func failuresOfTasksAreHidden() {
    var task = AgentTaskStatus(AgentTask.runtime.rawValue, .refresh)
    task.problem = "MARKED"
    #expect(task.forEverybody.problem == AgentStatus.hidden)
    let event = BackgroundTaskEvent.ended(identifier: "a", run: 1, .failed("MARKED"))
    #expect(event.values.map { !"\($0)".contains("MARKED") } == true)
  }
}
