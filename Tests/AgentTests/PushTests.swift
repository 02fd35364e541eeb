import DBusTesting
import NetworkPath
import Streams
import SystemTesting
import Testing

@testable import Agent

@Suite("Pushes, metered networks and outages, as the agent treats them", .timeLimit(.minutes(5)))
struct PushTests {
  @Test(
    "A push over the bus does at once what is due later, and On asks for tasks",
    .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"))
  func overTheBus() async throws {
    let bus = try PrivateBus()
    let pushed = Lock<[CoordinatorPush]>([])
    var options = ModeRunner.Options()
    options.push = { what in pushed.withLock { $0.append(what) } }
    let fixture = Fixture(ModeRecord(), options: options)
    let background = try TasksFixture(log: fixture.runner.log)
    let control = try await AgentControl.open(
      fixture.runner, tasks: background.tasks, lifecycle: try await background.lifecycle(), on: .address(bus.address))
    defer { withExtendedLifetime(control) {} }
    let client = try await AgentClient.open(on: .address(bus.address))
    try await client.push(.uploads)
    try await client.choose(.on)
    try await client.choose(.off)
    #expect(pushed.withLock { $0 } == [.uploads, .tasks])
  }

  @Test(
    "A look starts no agent", .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"))
  func aLook() async throws {
    let bus = try PrivateBus()
    let client = try await AgentClient.open(on: .address(bus.address))
    let status = await #expect(throws: AgentError.self) { _ = try await client.status() }
    #expect(status?.code == .notRunning)
    let events = await #expect(throws: AgentError.self) { _ = try await client.events() }
    #expect(events?.code == .notRunning)
    let tasks = await #expect(throws: AgentError.self) { _ = try await client.tasks() }
    #expect(tasks?.code == .notRunning)
  }

  private static let metered: PathSnapshot = {
    var path = Fixture.wired
    path.isExpensive = true
    return path
  }()

  @Test("With pause nothing runs for the swarm on a metered network") func pause() async throws {
    var options = ModeRunner.Options()
    options.pausesOnMetered = true
    try await Fixture(ModeRecord(mode: .on), options: options).running { fixture in
      fixture.say(Self.metered)
      await fixture.floor.until { fixture.status.runState == .blocked(.metered) }
      #expect(fixture.status.network?.isMetered == true)
      fixture.say(Fixture.wired)
      await fixture.floor.until { fixture.status.runState != .blocked(.metered) }
    }
  }

  @Test("An outage that lasts offers Bluetooth Local once, and the mode stays On") func offer() async throws {
    let fixture = Fixture(ModeRecord(mode: .on))
    var status = CoordinatorStatus(address: "c", agentID: "a")
    status.health.unreachableSinceMs = 17
    let offers = { fixture.runner.log.newest().count { $0.text.contains("Bluetooth Local is possible") } }
    await fixture.runner.take(status)
    fixture.clock.advance(by: .seconds(599))
    await fixture.runner.take(status)
    #expect(offers() == 0)
    fixture.clock.advance(by: .seconds(1))
    await fixture.runner.take(status)
    await fixture.runner.take(status)
    #expect(offers() == 1)
    #expect(fixture.status.mode == .on)
    // Another outage is offered for in its turn.
    status.health.unreachableSinceMs = 18
    await fixture.runner.take(status)
    fixture.clock.advance(by: .seconds(600))
    await fixture.runner.take(status)
    #expect(offers() == 2)
  }
}
