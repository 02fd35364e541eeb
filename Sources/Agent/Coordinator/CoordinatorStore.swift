import BackgroundTasks

/// Keeps a ``CoordinatorSession`` on disk, for its user's eyes only: it holds a token.
struct CoordinatorStore: Sendable {
  /// The session as it is written: in milliseconds since 1970, for the agent's clock begins anew with each start.
  private struct Contents: Codable, Versioned {
    var version = 1
    var coordinator: String
    var agentId: String
    var isRegistered: Bool
    var mayBeRegistered: Bool
    var meshToken: String?
    var registrationsAtMs: [Int64]
    var lastHeartbeatAtMs: Int64?
    var firstHeartbeatAtMs: Int64?
    var unsureHeartbeatAtMs: Int64?
    var unsignedUntilMs: Int64?
    var quietUntilMs: Int64?
    var conduct: Conduct
  }

  private let kept: KeptContents<Contents>
  private let coordinator: String
  private let agentID: String

  /// Names the file; what is in it counts only for this coordinator and this machine.
  init(path: String, coordinator: String, agentID: String) {
    kept = KeptContents(file: WholeFile(path: path, limit: 64 << 10))
    (self.coordinator, self.agentID) = (coordinator, agentID)
  }

  /// Reads the session; an empty one when there is none for this coordinator.
  /// - Parameters:
  ///   - now: the agent's clock.
  ///   - wallMs: the wall clock at the same moment. What lies in its future, since it was set back, counts as now.
  /// - Returns: the session, and what was wrong with the file, which is then kept aside.
  /// - Throws: ``AgentError`` with code `.storage`.
  func load(now: Duration, wallMs: Int64) throws(AgentError) -> (session: CoordinatorSession, problem: AgentError?) {
    switch try kept.load() {
    case .nothing: return (CoordinatorSession(), nil)
    case .contents(let contents):
      guard contents.coordinator == coordinator, contents.agentId == agentID else { return (CoordinatorSession(), nil) }
      func instant(_ atMs: Int64) -> Duration { now - .milliseconds(max(0, wallMs.subtractingClamped(atMs))) }
      var session = CoordinatorSession()
      session.isRegistered = contents.isRegistered
      session.mayBeRegistered = contents.mayBeRegistered
      session.meshToken = contents.meshToken
      session.registrations = contents.registrationsAtMs.suffix(64).map(instant)
      session.lastHeartbeat = contents.lastHeartbeatAtMs.map(instant)
      session.firstHeartbeat = contents.firstHeartbeatAtMs.map(instant)
      session.unsureHeartbeat = contents.unsureHeartbeatAtMs.map(instant)
      func deadline(_ atMs: Int64) -> Duration {
        now + .milliseconds(min(max(0, atMs.subtractingClamped(wallMs)), 3_600_000))
      }
      session.unsignedUntil = contents.unsignedUntilMs.map(deadline)
      session.quietUntil = contents.quietUntilMs.map(deadline)
      session.conduct = contents.conduct.moved(fromMs: wallMs, toMs: now.wholeMilliseconds)
      return (session, nil)
    case .damaged:
      let problem = AgentError(
        .damagedFile,
        "\(kept.file.path) does not hold what was agreed with the coordinator; this machine registers anew",
        hint: "the file is kept as \(kept.file.damagedPath)")
      return (CoordinatorSession(), problem)
    }
  }

  /// Writes the session; when this returns it is on disk.
  /// - Throws: ``AgentError`` with code `.storage`.
  func save(_ session: CoordinatorSession, now: Duration, wallMs: Int64) throws(AgentError) {
    func wall(_ instant: Duration) -> Int64 { wallMs + (instant - now).wholeMilliseconds }
    let contents = Contents(
      coordinator: coordinator, agentId: agentID, isRegistered: session.isRegistered,
      mayBeRegistered: session.mayBeRegistered, meshToken: session.meshToken,
      registrationsAtMs: session.registrations.map(wall), lastHeartbeatAtMs: session.lastHeartbeat.map(wall),
      firstHeartbeatAtMs: session.firstHeartbeat.map(wall), unsureHeartbeatAtMs: session.unsureHeartbeat.map(wall),
      unsignedUntilMs: session.unsignedUntil.map(wall), quietUntilMs: session.quietUntil.map(wall),
      conduct: session.conduct.moved(fromMs: now.wholeMilliseconds, toMs: wallMs))
    try kept.save(contents, isForPeople: false)
  }
}

extension Int64 {
  func subtractingClamped(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (self < 0 ? .min : .max) : difference
  }
}

extension Duration {
  /// In milliseconds, towards zero; within what an `Int64` can hold.
  var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (thousands, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    return overflow ? (seconds < 0 ? .min : .max) : thousands + attoseconds / 1_000_000_000_000_000
  }
}
