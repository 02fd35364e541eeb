/// A place for finished sessions beside the control server, such as a queue of uploads to one's own fleet.
public protocol CoverageDestination: Sendable {
  /// Takes a finished session with its fences, before the control server gets it and it is removed here.
  ///
  /// A session may come again after a failure or a kill, always with the same contents.
  /// - Parameters:
  ///   - session: The session, with its identifier at the control server.
  ///   - fences: The fences of the session, the first first.
  /// - Throws: An error for which the session stays and comes again later.
  func take(_ session: CoverageSession, _ fences: [StoredFence]) async throws
}
