import Agent
import NetworkPath
import SystemState

/// The parts of a running agent, which start and stop together.
struct AgentRole: Sendable {
  let runner: ModeRunner
  let tasks: AgentTasks
  let uploads: AgentUploads?
  let messages: AgentMessages?
  let loop: AgentLoop?
  let coverage: AgentCoverage?
  let control: LateControl
  let lifecycle: AgentLifecycle
  let path: NetworkPathMonitor
  let power: PowerMonitor

  /// Passes the current lifecycle phase, network path and power state to the mode runner, before anything else runs.
  func takeFirstState() async {
    await runner.take(hasBluetooth: KernelAdapters.exist)
    await runner.take(lifecycle.snapshot)
    await runner.take(path.path)
    await runner.take(power.snapshot)
  }

  /// Runs all parts until the task is cancelled or one of them ends; then it cancels the others and waits for them.
  /// - Throws: the error of a part that failed, after all parts have ended.
  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await control.run() }
      group.addTask { try await runner.run(paths: path.updates(), powers: power.updates()) }
      group.addTask { try await tasks.run(following: runner) }
      if let manager = ServiceManager() {
        group.addTask { await AgentService(manager: manager, runner: runner).run() }
      }
      group.addTask { await CodePages.keepReleasing() }
      group.addTask { await KernelAdapters.follow { await runner.take(hasBluetooth: $0) } }
      group.addTask { for await update in lifecycle.updates() { await runner.take(update.snapshot) } }
      if let messages { group.addTask { try await messages.run(following: lifecycle.updates()) } }
      if let loop { group.addTask { await loop.run(lifecycle, reportingTo: runner) } }
      if let coverage { group.addTask { await coverage.run { await runner.take($0) } } }
      if let uploads { group.addTask { await uploads.run(path, reportingTo: runner) } }
      defer { group.cancelAll() }
      while try await group.next() != nil {}
    }
  }

  /// The metrics of the process and of all parts but the phone.
  var metrics: [Metric] {
    get async {
      var metrics = ProcessMetrics.all + runner.status.metrics
      metrics += await uploads?.metrics() ?? []
      metrics += messages?.counts.metrics ?? []
      metrics += loop?.metrics ?? []
      metrics += coverage?.status.metrics ?? []
      return metrics
    }
  }
}
