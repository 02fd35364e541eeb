/// A sender of the heartbeats that the background tasks request in the mode On.
///
/// The service of the mode is the only sender (``ModeHeartbeats``), so that there are never two heartbeats at once.
public protocol HeartbeatSender: Sendable {
  /// Sends a heartbeat if one is needed, and waits until the coordinator has accepted it.
  ///
  /// None is needed while a service sends them in time. Cancelling the task ends the wait at once.
  /// - Throws: The reason why no heartbeat was accepted; `CancellationError`.
  func sendHeartbeatIfNeeded() async throws
}
