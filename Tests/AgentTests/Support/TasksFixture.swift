import BackgroundTasks
import DeterministicTesting
import DurableFiles
import Foundation
import Streams
import SystemState
import SystemTesting
import Timing

@testable import Agent

/// Background tasks with a sender that follows a test's orders, a file of their own, and a manual clock.
final class TasksFixture: Sendable {
  static let runtime = AgentTask.runtime.rawValue
  static let heartbeat = AgentTask.heartbeat.rawValue
  static let inBackground = LifecycleSnapshot(phase: .background, reason: .user, choice: .background)
  static let inForeground = LifecycleSnapshot(phase: .foreground, reason: .headless)

  let folder: URL
  /// Whether writing to the folder fails for lack of space.
  let isDiskFull = Lock(false)
  let clock = ManualClock()
  let sender = FakeSender()
  let log: EventLog
  private let disk: Disk
  /// Of no logind: held or waited for while something is under way.
  let activity: BackgroundActivity
  let tasks: AgentTasks
  private let statuses: BoundedStream<AgentStatus>.Source
  private let stream: BoundedStream<AgentStatus>
  private let events: Lock<BoundedStream<BackgroundTaskEvent>.Iterator>

  init(folder: URL? = nil, log: EventLog = EventLog(path: nil)) throws {
    self.log = log
    let usual = FileManager.default.temporaryDirectory.appending(path: "edgeblue-tasks-\(UUID().uuidString.prefix(8))")
    self.folder = folder ?? usual
    if folder == nil { try FileManager.default.createDirectory(at: usual, withIntermediateDirectories: true) }
    var activity = BackgroundActivity.Options()
    activity.bus = nil
    self.activity = BackgroundActivity(activity)
    var options = AgentTasks.Options()
    options.activity = self.activity
    options.time = TimeSource(clock)
    options.wallClock = { 1_700_000_000_000 }
    options.logger.logLevel = .critical
    disk = Disk { [isDiskFull] step, _ in step == .write && isDiskFull.withLock { $0 } ? ENOSPC : nil }
    tasks = try AgentTasks(
      store: BackgroundTaskStore(
        path: self.folder.appending(path: "tasks.json").path,
        disk: disk),
      sender: sender, log: log, options: options)
    (stream, statuses) = BoundedStream.make(limit: 16)
    events = Lock(tasks.events.makeAsyncIterator())
  }

  /// The phase, which only the user changes.
  func lifecycle() async throws -> AgentLifecycle {
    var options = LifecycleMonitor.Options()
    options.bus = nil
    return try await .start(
      store: LifecycleStore(
        path: folder.appending(path: "lifecycle.json").path,
        disk: disk),
      log: log, options: options)
  }

  /// What the agent does now.
  func say(
    _ mode: ComputeMode, _ runState: RunState = .running, _ lifecycle: LifecycleSnapshot = inBackground
  ) { say(AgentStatus(mode: mode, runState: runState, lifecycle: lifecycle)) }

  func say(_ status: AgentStatus) { statuses.yield(status) }

  /// The same, and all that follows from it before this returns.
  func tell(
    _ mode: ComputeMode, _ runState: RunState = .running, _ lifecycle: LifecycleSnapshot = inBackground
  ) async -> [AgentTaskStatus] {
    tasks.follow(AgentStatus(mode: mode, runState: runState, lifecycle: lifecycle))
    await tasks.settle()
    return await tasks.tasks
  }

  /// Runs the tasks until cancelled.
  func run() async throws { try await tasks.run(following: stream) }

  /// Runs the tasks while the body runs, then ends them.
  func running(_ body: () async throws -> Void) async throws {
    let run = Task { try await self.run() }
    do {
      try await body()
    } catch {
      run.cancel()
      throw error
    }
    run.cancel()
    try await run.value
  }

  deinit {
    // A folder left in the temporary directory does no harm.
    try? FileManager.default.removeItem(at: folder)
  }

  /// The next thing that happens to a task.
  func next() async -> BackgroundTaskEvent? {
    var iterator = events.withLock { $0 }
    return await iterator.next()
  }

  /// Waits until what is pending is as wanted: of each task how long it waits, `nil` for nothing pending.
  /// - Throws: `TestTimeout` with what is pending instead, and what the log says.
  func until(runtime: Duration?, heartbeat: Duration?) async throws {
    let end = ContinuousClock.now + .seconds(120)
    while true {
      let tasks = await tasks.tasks
      if tasks.map(\.wait) == [runtime, heartbeat] { return }
      guard ContinuousClock.now < end else {
        throw TestTimeout("at \(clock.now.offset) \(tasks); logged: \(log.newest().map(\.text))")
      }
      try await Task.sleep(for: .milliseconds(1), clock: .steady)
    }
  }

  /// From the moment when both are pending to the first heartbeat of the runtime.
  func begin() async throws {
    say(.on)
    try await until(runtime: .seconds(1), heartbeat: .seconds(900))
    await clock.advance(toSleeperAt: clock.now.offset + .seconds(1))
    await sender.isAsked()
  }
}

/// What is asked for heartbeats.
final class FakeSender: HeartbeatSender {
  enum Answer: Sendable {
    case sent
    case fails(String)
    /// It takes until the task is cancelled.
    case hangs
    /// The call lasts until the test ends it, also when the task is cancelled.
    case ignoresTheEnd
  }

  private let answer = Lock(Answer.sent)
  private let active = Lock((now: 0, most: 0))
  private let (calls, callsSource) = BoundedStream.make(of: Void.self, limit: 1000)
  private let (gate, gateSource) = BoundedStream.make(of: Void.self, limit: 1)

  func answer(_ new: Answer) { answer.withLock { $0 = new } }

  /// Waits until a heartbeat is asked for, which was not waited for before.
  func isAsked() async { for await _ in calls { return } }

  /// How often it was asked so far.
  var count: Int { calls.received }

  /// How many heartbeats were ever under way at a time.
  var mostAtOnce: Int { active.withLock { $0.most } }

  func mayEnd() { gateSource.yield(()) }

  func sendHeartbeatIfNeeded() async throws {
    // Before the test learns of the call, and may change the answer for the next one.
    let answer = answer.withLock { $0 }
    active.withLock { active in
      active.now += 1
      active.most = max(active.most, active.now)
    }
    defer { active.withLock { $0.now -= 1 } }
    callsSource.yield(())
    switch answer {
    case .sent: break
    case .fails(let reason): throw AgentError(.notConfigured, reason)
    case .hangs: try await Task.sleep(for: .seconds(3600), clock: .steady)
    case .ignoresTheEnd:
      let gate = gate
      await Task { for await _ in gate { return } }.value
    }
  }
}
