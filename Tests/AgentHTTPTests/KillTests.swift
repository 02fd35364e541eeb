import Agent
import BackgroundTasks
import DBusTesting
import DeterministicTesting
import Foundation
import SystemState
import SystemTesting
import Testing
import Timing

@Suite(
  "The built program, killed at random moments and restarted",
  .enabled(if: ChildProcess.path(of: "dbus-daemon") != nil, "needs dbus-daemon"),
  .enabled(if: FileManager.default.isExecutableFile(atPath: KilledAgent.program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct KillTests {
  /// `EDGEBLUE_KILLS=200` kills it so often; the seed of a run that fails repeats what was done, not when.
  @Test("Acknowledged requests survive a crash") func whatWasAcknowledgedIsThere() async throws {
    let environment = ProcessInfo.processInfo.environment
    let kills = environment["EDGEBLUE_KILLS"].flatMap(Int.init) ?? 20
    let seed = environment["EDGEBLUE_SEED"].flatMap(UInt64.init) ?? .random(in: 1...1_000_000)
    print("killed \(kills) times, seed \(seed)")
    try await Self.beside { coordinator, engine in
      var agent = try await KilledAgent(coordinator, engine: engine, seed: seed)
      for _ in 0..<kills { try await agent.live() }
      try await agent.liveOn()
      let results = coordinator.registry.seen.filter { $0.path == "/result" && $0.status == 200 }
      #expect(!results.isEmpty)
      // One that was killed before it heard its token has to ask for it again; once it is on disk, nobody has.
      #expect((1...3).contains(coordinator.registry.count("/register")), "seed \(seed)")
      #expect(coordinator.registry.faults == [], "seed \(seed)")
      // One that was on its way when the program was killed may come again, the same byte for byte, but not another one.
      for (task, same) in Dictionary(grouping: results, by: { $0.text("subtaskId") ?? "" }) {
        #expect(Set(same.map(\.body)).count == 1, "seed \(seed), task \(task)")
        #expect(Set(same.map(\.idempotencyKey)).count == 1, "seed \(seed), task \(task)")
      }
      #expect(Set(coordinator.registry.seen.compactMap { $0.text("agentId") }).count == 1)
    }
  }

  private static func beside(
    _ body: @escaping @Sendable (_ coordinator: TestCoordinator, _ engine: String) async throws -> Void
  ) async throws {
    try await TestCoordinator.run { coordinator in
      try await SlowEngine.run { engine in try await body(coordinator, engine) }
    }
  }
}

/// An agent that is killed, and what it has acknowledged.
private struct KilledAgent {
  static let program = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../.build/debug/edgeblue").standardized.path

  private let coordinator: TestCoordinator
  private let engine: String
  private let bus: PrivateBus
  private let folder: Folder
  private let client: AgentClient
  private let seed: UInt64
  private var random: SeededGenerator
  private var life = 0
  /// What was acknowledged; two where the agent was killed before it answered.
  private var modes: Set<ComputeMode> = [.off]
  private var phases: Set<LifecycleChoice> = [.auto]
  /// Of the background tasks, those that were seen pending and that nothing has taken back since.
  private var pending: Set<String> = []
  /// The results that were seen on disk.
  private var results: Set<String> = []
  private var events = 0
  private var offers = 0

  init(_ coordinator: TestCoordinator, engine: String, seed: UInt64) async throws {
    self.coordinator = coordinator
    self.engine = engine
    self.seed = seed
    bus = try PrivateBus()
    folder = try Folder()
    random = SeededGenerator(seed: seed)
    client = try await .open(on: .address(bus.address))
  }

  /// Starts it, has it do something, and kills it meanwhile.
  mutating func live() async throws {
    life += 1
    // One in ten has time for a task, whose result the coordinator cannot take at first: it stays on disk.
    let isLong = life % 10 == 5
    if isLong { coordinator.misbehave("/result", .answers(503, "")) }
    let agent = try start()
    // One in five does not live until it can be spoken to.
    let isShort = !isLong && Int.random(in: 0..<5, using: &random) == 0
    if !isShort { try await Self.ready(agent) }
    if isLong { try await bringOne() }
    let time = isLong ? 0...500 : isShort ? 1...150 : 0...150
    let killer = Task.detached { [milliseconds = Int.random(in: time, using: &random)] in
      try? await Task.sleep(for: .milliseconds(milliseconds), clock: .steady)
      agent.kill()
    }
    if isLong { modes = [.on] } else if !isShort { await act() }
    await killer.value
    try check()
  }

  /// The next agent that asks gets a task.
  private mutating func offer() {
    offers += 1
    coordinator.registry.offer(
      #"{"id":"s\#(offers)","taskId":"T","input":"The prompt number \#(offers).","timeoutMs":60000}"#)
  }

  /// Has it do a task, up to the moment when its result is on its way; by then it is on disk.
  private mutating func bringOne() async throws {
    offer()
    let brought = coordinator.registry.count("/result")
    try await client.choose(.on)
    await coordinator.registry.until { seen in seen.count { $0.path == "/result" } > brought }
  }

  /// Starts it once more, and waits until nothing is left to bring. One that was sent twice waits until another one was.
  mutating func liveOn() async throws {
    offer()
    let left = results
    let registry = coordinator.registry
    let heartbeats = registry.count("/heartbeat")
    let agent = try start()
    try await Self.ready(agent)
    try await client.choose(.on)
    await registry.until { seen in
      let taken = seen.filter { $0.path == "/result" && $0.status == 200 }.compactMap { $0.text("subtaskId") }
      return seen.filter { $0.path == "/heartbeat" }.count > heartbeats && left.isSubset(of: taken)
    }
    agent.signal(SIGTERM)
    #expect(await agent.wait() == 0)
    modes = [.on]
    try check()
  }

  private func start() throws -> ChildProcess {
    try ChildProcess(
      Self.program,
      [
        "agent", "--state", folder.path + "/state", "--bus", bus.address, "--coordinator", coordinator.address,
        "--engine", "openai", "--engine-url", engine, "--log-level", "critical",
      ], environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address, "HOME": folder.path], errors: .discarded)
  }

  /// From its first line on it is on the bus.
  private static func ready(_ agent: ChildProcess) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      Thread.detachNewThread { continuation.resume(with: Result { _ = try agent.firstLine() }) }
    }
  }

  /// A person chooses and looks, until the agent is gone.
  private mutating func act() async {
    do {
      let status = try await client.status()
      #expect(modes.contains(status.mode), "life \(life), seed \(seed)")
      if let choice = status.lifecycle?.choice { #expect(phases.contains(choice), "life \(life), seed \(seed)") }
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        if Bool.random(using: &random) {
          let mode = [.on, .on, .on, .bluetoothLocal, .off].randomElement(using: &random) ?? ComputeMode.on
          if mode == .off { pending = [] }
          modes.insert(mode)
          try await client.choose(mode)
          modes = [mode]
        } else {
          let choice = LifecycleChoice.allCases.randomElement(using: &random) ?? .auto
          phases.insert(choice)
          try await client.choose(lifecycle: choice)
          phases = [choice]
        }
      }
      let tasks = try await client.tasks()
      // When it is Off they are about to go.
      if modes.isDisjoint(with: [.off]) { pending = Set(tasks.filter { $0.wait != nil }.map(\.identifier)) }
    } catch {
      // It is gone, and what it was asked for last may have happened, or not.
    }
  }

  /// What is on disk is whole, and what was acknowledged.
  private mutating func check() throws {
    let state = folder.path + "/state"
    guard FileManager.default.fileExists(atPath: state) else { return }
    let names = try FileManager.default.subpathsOfDirectory(atPath: state)
    #expect(!names.contains { $0.hasSuffix(".damaged") }, "life \(life), seed \(seed)")
    for name in names where name.hasSuffix(".json") {
      let json = try? JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: "\(state)/\(name)")))
      #expect(json is [String: Any], "life \(life), seed \(seed): \(name) is damaged")
    }
    modes = modes.intersection([try ModeStore(path: state + "/mode.json").load().value.mode])
    #expect(modes.count == 1, "life \(life), seed \(seed): another mode")
    phases = phases.intersection([try LifecycleStore(path: state + "/lifecycle.json").load().value])
    #expect(phases.count == 1, "life \(life), seed \(seed): another phase")
    let tasks = Set(try BackgroundTaskStore(path: state + "/tasks.json").load().tasks.map(\.request.identifier))
    #expect(pending.isSubset(of: tasks), "life \(life), seed \(seed): \(tasks) are pending")
    let count = EventLog(path: state + "/events.jsonl").count
    #expect(count >= events, "life \(life), seed \(seed): events are lost")
    events = count
    try checkResults(names.filter { $0.hasPrefix("results/") && $0.hasSuffix(".json") }.map { "\(state)/\($0)" })
  }

  /// A result that was on disk is there, until the coordinator has it.
  private mutating func checkResults(_ files: [String]) throws {
    struct Kept: Decodable {
      struct Result: Decodable { var subtaskId: String }
      var result: Result
    }
    let kept = try files.map { file in
      try JSONDecoder().decode(Kept.self, from: Data(contentsOf: URL(filePath: file))).result.subtaskId
    }
    #expect(Set(kept).count == kept.count, "life \(life), seed \(seed): a result is there twice")
    let taken = coordinator.registry.seen.filter { $0.path == "/result" && $0.status == 200 }
    let there = Set(kept).union(taken.compactMap { $0.text("subtaskId") })
    #expect(results.isSubset(of: there), "life \(life), seed \(seed): a result is lost")
    results.formUnion(kept)
  }
}
