internal import BackgroundTasks
internal import Streams

/// What the background tasks do: they ask for their next run, and for heartbeats.
struct AgentHeartbeats: Sendable {
  let sender: any HeartbeatSender
  /// What the agent does; `nil` before it is known.
  let status: Lock<AgentStatus?>
  let options: AgentTasks.Options
  /// Called after requests: what is wanted may have changed while they were made.
  let onRequest: @Sendable () -> Void

  func definition(of task: AgentTask) -> BackgroundTaskDefinition {
    BackgroundTaskDefinition(task.rawValue, task.kind) { try await run(task, as: $0) }
  }

  private func run(_ task: AgentTask, as run: BackgroundTask) async throws {
    let use = options.activity?.begin()
    defer { use?.end() }
    // First of all, so that there is a next run however this one ends. Each run of the runtime puts the heartbeat off.
    if status.withLock({ $0?.wantsBackgroundTasks }) == true {
      if task == .runtime { try await run.submit(AgentTask.runtime.next) }
      try await run.submit(AgentTask.heartbeat.next)
      onRequest()
    }
    try await askForAHeartbeat()
    guard task == .runtime else { return }
    while status.withLock({ $0?.wantsBackgroundTasks }) != false {
      // Who is told to end between two heartbeats has done what there was to do.
      do { try await options.time.sleep(for: AgentTask.interval) } catch { return }
      try await askForAHeartbeat()
    }
  }

  /// Only On has heartbeats.
  private func askForAHeartbeat() async throws {
    guard status.withLock({ $0?.mode }) == .on else { return }
    do {
      try await sender.sendHeartbeatIfNeeded()
    } catch is CancellationError {
      throw AgentError(.interrupted, "it was told to end before the heartbeat got through")
    }
  }
}
