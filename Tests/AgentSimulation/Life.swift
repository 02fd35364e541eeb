import Agent
import Foundation
import Logging
import NetworkPath
import Streams
import SystemState
import Timing

/// One run of the program, from its start to its end: the agent as `edgeblue agent` puts it together, but for the bus.
final class Life: @unchecked Sendable {
  // Sound: there is one thread, see Executor.

  /// The streams of the network and of the power.
  private struct Inputs {
    let paths = BoundedStream.make(of: PathUpdate.self, limit: 16)
    let powers = BoundedStream.make(of: PowerUpdate.self, limit: 16)
  }

  private enum Phase { case running, leaving, ended(wasLeaving: Bool) }

  let world: World
  let number: Int
  let log: EventLog
  let runner: ModeRunner
  let swarm: CoordinatorRunner
  let tasks: AgentTasks
  let activity: BackgroundActivity
  let services = Services()
  private(set) var lifecycle: AgentLifecycle?
  private var folder: StateFolder?
  private let inputs = Inputs()
  private var run: Task<Void, Never>?
  private var phase = Phase.running
  /// What it was last seen to do.
  var seen: AgentStatus?
  /// Background runs that have begun and not ended.
  var runs: [Int: String] = [:]

  /// A Boolean value that indicates whether the program was told to stop.
  var isLeaving: Bool {
    switch phase {
    case .running: false
    case .leaving: true
    case .ended(let wasLeaving): wasLeaving
    }
  }

  /// A Boolean value that indicates whether the program has ended.
  var hasEnded: Bool { if case .ended = phase { true } else { false } }

  /// Restores what is on disk; nothing runs yet.
  init(_ world: World, number: Int) throws {
    self.world = world
    self.number = number
    let time = TimeSource(world.clock)
    let folder = try StateFolder(path: world.folder)
    self.folder = folder
    let wallClock: @Sendable () -> Int64 = { world.wallMs }
    let random: @Sendable () -> Double = { .random(in: 0...1, using: &world.random) }
    var quiet = Logger(label: "simulation")
    quiet.logLevel = .critical
    log = EventLog(path: folder.events, wallClock: wallClock)

    var swarmOptions = CoordinatorRunner.Options()
    swarmOptions.time = time
    swarmOptions.wallClock = wallClock
    swarmOptions.random = random
    swarmOptions.bootClock = { BootInstant(boot: "\(world.boots.count)", atMs: world.bootMs) }
    swarmOptions.logger = quiet
    swarmOptions.power = { world.weather.power }
    swarmOptions.model = { CoordinatorModel(isReady: world.weather.isModelReady, name: "m") }
    swarmOptions.network.isSparing = { world.isSparing }
    swarmOptions.network.afterGap = world.afterGap
    swarmOptions.answer = { try await world.answer($0, time) }
    swarm = try CoordinatorRunner(
      transport: SimulatedTransport(world: world, life: number, time: time), signer: SimulatedSigner(),
      identity: try .load(path: folder.identity, hostName: "", chosen: "simulated"), folder: folder, log: log,
      options: swarmOptions)

    var options = ModeRunner.Options()
    options.time = time
    options.random = random
    options.logger = quiet
    runner = try ModeRunner(
      store: folder.modes, log: log,
      phone: Watched(.phone, SimulatedPhone(world: world, time: time), services, world),
      heartbeat: Watched(.heartbeat, swarm, services, world), options: options)

    var activityOptions = BackgroundActivity.Options()
    activityOptions.bus = nil
    activityOptions.interval = .seconds(86_400)
    activity = BackgroundActivity(activityOptions)
    var taskOptions = AgentTasks.Options()
    taskOptions.time = time
    taskOptions.wallClock = wallClock
    taskOptions.random = random
    taskOptions.logger = quiet
    taskOptions.activity = activity
    tasks = try AgentTasks(store: folder.tasks, sender: ModeHeartbeats(runner), log: log, options: taskOptions)
  }

  /// Runs the program until it is stopped or fails.
  func begin() {
    world.weather.startedAt = world.now
    run = Task {
      do {
        try await work()
        if !isLeaving { world.fault("it has ended by itself") }
      } catch {
        world.tell("ended: \(error)")
        if (error as? AgentError)?.code != .serviceHangs { world.fault("it has ended: \(error)") }
      }
      phase = .ended(wasLeaving: isLeaving)
    }
  }

  private func work() async throws {
    var options = LifecycleMonitor.Options()
    options.bus = nil
    options.interval = .seconds(86_400)
    let store = LifecycleStore(path: world.folder + "/lifecycle.json")
    let lifecycle = try await AgentLifecycle.start(store: store, log: log, options: options)
    self.lifecycle = lifecycle
    world.ledger.begins(self, lifecycle.snapshot.choice, await tasks.tasks)
    await runner.take(world.phase(lifecycle.snapshot))
    await runner.take(world.weather.path)
    await runner.take(world.powerSnapshot)
    let runner = runner
    let tasks = tasks
    let swarm = swarm
    let events = tasks.events
    let paths = inputs.paths.stream
    let powers = inputs.powers.stream
    let beside = [
      Task { for await status in swarm.statuses { await runner.take(status) } },
      Task { for await event in events { self.note(event) } },
    ]
    defer { for task in beside { task.cancel() } }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await runner.run(paths: paths, powers: powers) }
      group.addTask { try await tasks.run(following: runner) }
      defer { group.cancelAll() }
      while try await group.next() != nil {}
    }
  }

  /// SIGTERM.
  func leave() {
    phase = hasEnded ? .ended(wasLeaving: true) : .leaving
    run?.cancel()
  }

  /// What the program had in memory is gone; what it held, others may have.
  func close() {
    lifecycle?.close()
    activity.close()
    folder = nil
  }

  func say(_ path: PathSnapshot) { inputs.paths.source.yield(PathUpdate(number: 1, path: path)) }

  func say(_ power: PowerSnapshot) { inputs.powers.source.yield(PowerUpdate(number: 1, snapshot: power)) }

  /// Performs an action of the user or the system, which is complete on return unless the program is killed before.
  func act(_ action: @escaping @Sendable (Life) async -> Void) {
    Task { await action(self) }
    world.settle()
  }
}
