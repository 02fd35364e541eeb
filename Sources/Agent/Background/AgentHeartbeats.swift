internal import BackgroundTasks
internal import Streams

/// The work of the background tasks: each submits its next run, and requests heartbeats.
struct AgentHeartbeats: Sendable {
  let sender: any HeartbeatSender
  /// The newest status of the agent; `nil` before the first.
  let status: Lock<AgentStatus?>
  let options: AgentTasks.Options
  /// A closure that is called after requests were submitted, because the wanted ones may have changed meanwhile.
  let onRequest: @Sendable () -> Void

  func definition(of task: AgentTask) -> BackgroundTaskDefinition {
    BackgroundTaskDefinition(task.rawValue, task.kind) { try await run(task, as: $0) }
  }

  private func run(_ task: AgentTask, as run: BackgroundTask) async throws {
    let use = options.activity?.begin()
    defer { use?.end() }
    // First of all, so that there is a next run however this one ends. Each run of the runtime delays the heartbeat.
    if status.withLock({ $0?.wantsBackgroundTasks }) == true {
      if task == .runtime { try await run.submit(AgentTask.runtime.next) }
      try await run.submit(AgentTask.heartbeat.next)
      onRequest()
    }
    try await requestHeartbeat()
    guard task == .runtime else { return }
    while status.withLock({ $0?.wantsBackgroundTasks }) != false {
      // A run that is cancelled between two heartbeats has completed its work.
      let interval = AgentTask.interval
      // The service sends the heartbeats; this waits for one.
      do { try await options.time.sleep(for: interval, tolerance: interval / 2) } catch { return }
      try await requestHeartbeat()
    }
  }

  /// Requests a heartbeat in the mode On; the other modes have none.
  private func requestHeartbeat() async throws {
    guard status.withLock({ $0?.mode }) == .on else { return }
    do {
      try await sender.sendHeartbeatIfNeeded()
    } catch is CancellationError {
      throw AgentError(.interrupted, "the task was cancelled before the heartbeat was sent")
    }
  }
}
