import DeterministicTesting
import Foundation
import SystemState
import SystemTesting
import Testing
import Timing

@testable import Agent

@Suite("The promises of background tasks, in random orders of events", .computing, .timeLimit(.minutes(10)))
struct AgentTasksSeedTests {
  @Test("Simulated days break no guarantee", arguments: [UInt64](1...100)) func thePromisesHold(seed: UInt64)
    async throws
  {
    var generator = SeededGenerator(seed: seed)
    var world = try World(TasksFixture())
    for _ in 0..<40 {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0...4: try await world.say(AgentStatus(using: &generator), seed)
      case 5...6: world.fixture.clock.advance(by: .seconds([1, 15, 300, 900].randomElement(using: &generator) ?? 1))
      case 7:
        let task = AgentTask.allCases.randomElement(using: &generator) ?? .runtime
        let isRun = Bool.random(using: &generator)
        // Refused or not: that is the scheduler's to decide.
        _ = try? await isRun ? world.fixture.tasks.runNow(task.rawValue) : world.fixture.tasks.expireNow(task.rawValue)
      case 8:
        let answers: [FakeSender.Answer] = [.sent, .fails("no way out"), .hangs]
        world.fixture.sender.answer(answers.randomElement(using: &generator) ?? .sent)
      default: try await world.die(seed)
      }
    }
    try await world.end(seed)
  }

  /// A program's life, and those before it.
  private struct World {
    var fixture: TasksFixture
    private var run: Task<Void, any Error>

    init(_ fixture: TasksFixture) {
      self.fixture = fixture
      run = Task { try await fixture.run() }
    }

    /// Within moments what is pending is what is wanted.
    func say(_ status: AgentStatus, _ seed: UInt64) async throws {
      fixture.say(status)
      for _ in 0..<20_000 {
        let tasks = await fixture.tasks.tasks
        switch status.wantsBackgroundTasks {
        case false? where tasks.allSatisfy({ $0.wait == nil }): return
        case true? where !status.conditions.isInBackground: return
        case true? where tasks.allSatisfy({ $0.wait != nil || $0.isRunning }): return
        case nil: return
        default: try await Task.sleep(for: .milliseconds(1), clock: .steady)
        }
      }
      Issue.record("seed \(seed): \(await fixture.tasks.tasks) after \(status)")
    }

    /// The program is killed: the next one has what is on disk at that moment.
    mutating func die(_ seed: UInt64) async throws {
      let copy = FileManager.default.temporaryDirectory.appending(path: "edgeblue-tasks-\(UUID().uuidString.prefix(8))")
      try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
      let before = await pending
      let file = fixture.folder.appending(path: "tasks.json")
      // Nothing has ever been pending where there is no file.
      if let data = try? Data(contentsOf: file) { try data.write(to: copy.appending(path: "tasks.json")) }
      let stillThere = await pending.intersection(before)
      let next = World(try TasksFixture(folder: copy))
      #expect(await stillThere.isSubset(of: next.pending), "seed \(seed)")
      try await end(seed)
      self = next
    }

    private var pending: Set<String> {
      get async { Set(await fixture.tasks.tasks.filter { $0.wait != nil }.map(\.identifier)) }
    }

    /// Every run that began has ended, once, and no two heartbeats were ever under way.
    func end(_ seed: UInt64) async throws {
      run.cancel()
      try await run.value
      #expect(fixture.sender.mostAtOnce <= 1, "seed \(seed)")
      // The service does not wait for a run that is overdue, which ends as soon as its task has the processor.
      for _ in 0..<20_000 where await fixture.tasks.tasks.contains(where: \.isOverdue) {
        try await Task.sleep(for: .milliseconds(1), clock: .steady)
      }
      let tasks = await fixture.tasks.tasks
      #expect(tasks.allSatisfy { !$0.isRunning }, "seed \(seed)")
      #expect(tasks.allSatisfy { !$0.isOverdue }, "seed \(seed)")
    }
  }
}

extension AgentStatus {
  fileprivate init(using generator: inout SeededGenerator) {
    let mode = ComputeMode.allCases.randomElement(using: &generator) ?? .off
    let states: [RunState] = [.running, .starting, .failed(because: "x"), .blocked(.notCharging), .stopped]
    let phases: [AppLifecycle] = [.background, .background, .foreground, .suspending]
    self.init(
      mode: mode, runState: mode == .off ? .stopped : states.randomElement(using: &generator) ?? .running,
      lifecycle: LifecycleSnapshot(phase: phases.randomElement(using: &generator) ?? .background, reason: .user))
  }
}
