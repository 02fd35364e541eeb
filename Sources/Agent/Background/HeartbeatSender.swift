/// What the background tasks ask for the heartbeats of the mode On.
///
/// There is one way to the coordinator, and never two heartbeats at once: who is asked is the service of the mode
/// (``ModeHeartbeats``), or in a test what stands for it.
public protocol HeartbeatSender: Sendable {
  /// Sees to it that a heartbeat gets through, if one is needed.
  ///
  /// None is needed while a service sends them in time. Cancelling the task ends the wait at once.
  /// - Throws: why no heartbeat gets through, for a person; `CancellationError`.
  func sendHeartbeatIfNeeded() async throws
}
