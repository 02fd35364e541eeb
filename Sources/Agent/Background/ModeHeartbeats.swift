/// The heartbeats of the mode On, as background tasks ask for them.
///
/// The service of the mode sends them, in every phase, and nobody else does. So all there is to do is to see whether it
/// works, to wait until it does, and to say why it does not.
public struct ModeHeartbeats: HeartbeatSender {
  private let runner: ModeRunner

  /// Asks the service of a runner.
  public init(_ runner: ModeRunner) { self.runner = runner }

  /// Returns when the service works, or no longer has to; see ``HeartbeatSender``.
  /// - Throws: ``AgentError`` with code `.noHeartbeat` when it has failed, or the coordinator did not take the last
  ///   heartbeat; `CancellationError`.
  public func sendHeartbeatIfNeeded() async throws {
    for await status in runner.statuses() {
      guard status.mode == .on else { return }
      switch status.runState {
      case .running:
        guard let problem = status.coordinator?.problem else { return }
        throw AgentError(.noHeartbeat, problem)
      case .blocked, .stopped: return
      case .failed(let reason): throw AgentError(.noHeartbeat, reason)
      // What it comes to, the next status tells.
      case .starting, .stopping: continue
      }
    }
    try Task.checkCancellation()
  }
}
