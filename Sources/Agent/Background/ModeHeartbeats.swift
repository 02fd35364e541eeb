/// A heartbeat sender that relies on the service of the mode On.
///
/// That service alone sends heartbeats, in every lifecycle phase. So this sender waits until the service works, and
/// throws the reason if it does not.
///
/// ```swift
/// let heartbeats = ModeHeartbeats(runner)
/// try await heartbeats.sendHeartbeatIfNeeded()
/// ```
public struct ModeHeartbeats: HeartbeatSender {
  private let runner: ModeRunner

  /// Creates a sender for the service of a runner.
  public init(_ runner: ModeRunner) { self.runner = runner }

  /// Returns when the service works, or is not to work any more; see ``HeartbeatSender``.
  /// - Throws: ``AgentError`` with code `.noHeartbeat` when the service has failed or the coordinator did not accept the
  ///   last heartbeat; `CancellationError`.
  public func sendHeartbeatIfNeeded() async throws {
    for await status in runner.statuses() {
      guard status.mode == .on else { return }
      switch status.runState {
      case .running:
        guard let problem = status.coordinator?.problem else { return }
        throw AgentError(.noHeartbeat, problem)
      case .blocked, .stopped: return
      case .failed(let reason): throw AgentError(.noHeartbeat, reason)
      // The next status contains the result.
      case .starting, .stopping: continue
      }
    }
    try Task.checkCancellation()
  }
}
