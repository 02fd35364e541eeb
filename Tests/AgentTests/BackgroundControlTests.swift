import BackgroundTasks
import DBus
import DBusTesting
import Foundation
import Streams
import SystemState
import SystemTesting
import Testing

@testable import Agent

@Suite(
  "Background tasks and the lifecycle phase, over D-Bus",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"), .timeLimit(.minutes(5)))
struct BackgroundControlTests {
  @Test("A client sends the agent to the background and runs tasks") func aPersonSendsItToTheBackgroundAndRunsTasks()
    async throws
  {
    let bus = try PrivateBus()
    let fixture = Fixture(ModeRecord(mode: .bluetoothLocal))
    let background = try TasksFixture(log: fixture.runner.log)
    let lifecycle = try await background.lifecycle()
    let control = try await AgentControl.open(
      fixture.runner, tasks: background.tasks, lifecycle: lifecycle, on: .address(bus.address))
    let client = try await AgentClient.open(on: .address(bus.address))
    let other = try await bus.connect()
    let heard = try await other.signals(MatchRule(interface: "io.edgecoder.Tasks1", member: "Event"))
    try await fixture.running { fixture in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await control.run() }
        group.addTask { try await background.tasks.run(following: fixture.runner) }
        group.addTask {
          #expect(try await client.status().lifecycle == nil, "nobody has said")
          let status = try await client.choose(lifecycle: .background)
          #expect(status.lifecycle == TasksFixture.inBackground)
          #expect(status == fixture.status)
          #expect(fixture.status.lifecycle == TasksFixture.inBackground)
          try await background.until(runtime: .seconds(1), heartbeat: .seconds(900))
          #expect(try await client.tasks() == background.tasks.tasks)
          try await runAndExpire(client, heard)
        }
        try await group.next()
        group.cancelAll()
      }
    }
    other.close()
    // Who is started again is obeyed as before.
    #expect(try await background.lifecycle().snapshot == TasksFixture.inBackground)
  }

  private func runAndExpire(_ client: AgentClient, _ heard: BoundedStream<Signal>) async throws {
    try await client.runTask(AgentTask.runtime.rawValue)
    #expect(try await client.tasks().map(\.isRunning) == [true, false])
    let busy = await #expect(throws: AgentError.self) {
      try await client.runTask(AgentTask.heartbeat.rawValue)
    }
    #expect(busy?.code == .notNow)
    #expect(busy?.message.contains("\(AgentTask.runtime.rawValue) is running") == true)
    let unknown = await #expect(throws: AgentError.self) { try await client.runTask("org.example.nothing") }
    #expect(unknown?.code == .invalidArgument)
    #expect(unknown?.message.contains(AgentTask.runtime.rawValue) == true)
    try await client.expireTask(AgentTask.runtime.rawValue)
    var iterator = heard.makeAsyncIterator()
    for kind in ["began", "expired", "completed"] {
      let event = await iterator.next()?.arguments
      #expect(event?.first?.string == AgentTask.runtime.rawValue)
      #expect(event?[2].string == kind)
    }
    let idle = await #expect(throws: AgentError.self) { try await client.expireTask(AgentTask.runtime.rawValue) }
    #expect(idle?.code == .notNow)
    #expect(try await client.tasks().map(\.completed) == [1, 0])
  }

  @Test("A phase that cannot be written to disk is refused") func aChoiceThatCannotBeKeptIsRefused() async throws {
    let background = try TasksFixture()
    let lifecycle = try await background.lifecycle()
    let file = background.folder.appending(path: "lifecycle.json")
    background.isDiskFull.withLock { $0 = true }
    let full = #expect(throws: AgentError.self) { try lifecycle.choose(.background) }
    #expect(full?.code == .storage)
    #expect(full?.errno == ENOSPC)
    #expect(lifecycle.snapshot.choice == .auto)
    background.isDiskFull.withLock { $0 = false }
    #expect(try lifecycle.choose(.background).phase == .background)
    #expect(try lifecycle.choose(.background).choice == .background)
    #expect(background.log.newest().map(\.text) == ["the user chose the phase: background"])

    try Data(#"{"version":1,"choice":"upside down"}"#.utf8).write(to: file)
    #expect(try await background.lifecycle().snapshot == TasksFixture.inForeground)
    #expect(background.log.newest().last?.kind == .storage)
    #expect(FileManager.default.fileExists(atPath: file.path + ".damaged"))
  }

  @Test("Every property of a task status crosses the bus") func everyPartOfATaskCrossesTheBus() {
    var task = AgentTaskStatus("a.b", .refresh)
    #expect(AgentTaskStatus(properties: task.properties) == task)
    task.isRunning = true
    task.isOverdue = true
    task.completed = 3
    task.failed = 4
    task.wait = .milliseconds(1500)
    task.obstacle = .networkLost
    task.problem = "no way out"
    #expect(AgentTaskStatus(properties: task.properties) == task)
    #expect(AgentTaskStatus(properties: ["Identifier": "a.b", "Kind": "other"]) == nil)
  }
}
