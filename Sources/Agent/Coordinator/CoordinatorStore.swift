import DurableFiles
import Glibc
import Timing

/// The file of a ``CoordinatorSession``, readable by its user only because it contains a token.
struct CoordinatorStore: Sendable {
  /// The consequences of a gap in the heartbeats.
  private struct Gap: Codable {
    var quietUntilMs: Int64?
    var unknownUntilMs: Int64?
    var strikesAtMs: [Int64]
  }

  /// The session as it is written, in milliseconds since 1970, because the agent's clock starts with the process.
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
    var gap: Gap?
    var conduct: Conduct
    /// The time of writing by the wall clock, and by the clock since the boot, which cannot be set.
    var savedAtMs: Int64
    var boot: BootInstant
  }

  private let kept: KeptContents<Contents>
  /// The session from before the disk was full: later changes are unknown.
  private let stale: KeptContents<Contents>
  private let coordinator: String
  private let agentID: String

  /// Creates a reference to the file, whose contents count only for this coordinator and this machine.
  init(path: String, coordinator: String, agentID: String) {
    kept = KeptContents(file: WholeFile(path: path, limit: 64 << 10))
    stale = KeptContents(file: WholeFile(path: path + ".stale", limit: 64 << 10))
    self.coordinator = coordinator
    self.agentID = agentID
  }

  /// Reads the session, or returns an empty one if there is none for this coordinator.
  ///
  /// The wall clock counts only after a boot of the machine. An instant in its future, because the clock was set back,
  /// counts as now; and because the time away is unknown then, only heartbeats are sent at first, as after a gap. The
  /// same holds after a full disk.
  /// - Returns: The session, and the problem of a corrupt file, which was renamed.
  /// - Throws: ``AgentError`` with code `.storage`.
  func load(at clock: ClockReading) throws(AgentError) -> (session: CoordinatorSession, problem: AgentError?) {
    var found = try kept.load()
    var isStale = false
    if case .nothing = found {
      found = try stale.load()
      isStale = true
    }
    switch found {
    case .nothing: return (CoordinatorSession(), nil)
    case .contents(let contents):
      guard contents.coordinator == coordinator, contents.agentId == agentID else { return (CoordinatorSession(), nil) }
      let session = session(contents, at: clock, isStale: isStale)
      guard isStale || contents.boot.boot != clock.boot.boot else { return (session, nil) }
      // By the clock that counts from now on: the wall clock is read only once, because it may be set.
      do {
        try save(session, at: clock)
        return (session, nil)
      } catch {
        return (session, error)
      }
    case .damaged:
      let problem = AgentError(
        .damagedFile,
        "\(kept.file.path) does not contain a session with the coordinator; this machine registers again",
        hint: "the file is kept as \(kept.file.damagedPath)")
      return (CoordinatorSession(), problem)
    }
  }

  private func session(_ contents: Contents, at clock: ClockReading, isStale: Bool) -> CoordinatorSession {
    let now = clock.now
    let isSameBoot = contents.boot.boot == clock.boot.boot
    // Any numbers may be in a file that another program, or a damaged disk, wrote.
    let sinceSaved = clock.boot.atMs.subtractingClamped(contents.boot.atMs)
    let wallMs = isSameBoot ? contents.savedAtMs.addingClamped(sinceSaved) : clock.wallMs
    func instant(_ atMs: Int64) -> Duration { now - .milliseconds(max(0, wallMs.subtractingClamped(atMs))) }
    func deadline(_ atMs: Int64) -> Duration {
      now
        + .milliseconds(
          min(max(0, atMs.subtractingClamped(wallMs)), CoordinatorSession.quiet.milliseconds(rounded: .towardZero)))
    }
    var session = CoordinatorSession()
    session.enrolment =
      contents.isRegistered ? .registered : contents.mayBeRegistered ? .uncertain : .unregistered
    session.meshToken = contents.meshToken
    session.registrations = contents.registrationsAtMs.suffix(64).map(instant)
    let unsure = contents.unsureHeartbeatAtMs.map(instant)
    if let last = contents.lastHeartbeatAtMs {
      session.heartbeats = .accepted(last: instant(last), unsure: unsure)
    } else if let first = contents.firstHeartbeatAtMs {
      session.heartbeats = .unconfirmed(first: instant(first), unsure: unsure)
    }
    session.unsignedUntil = contents.unsignedUntilMs.map(deadline)
    session.quietUntil = contents.gap?.quietUntilMs.map(deadline)
    session.unknownUntil = contents.gap?.unknownUntilMs.map(deadline)
    session.strikes = (contents.gap?.strikesAtMs ?? []).suffix(64).map(instant)
    session.conduct = contents.conduct.moved(fromMs: wallMs, toMs: now.milliseconds(rounded: .towardZero))
    if isStale || wallMs < contents.savedAtMs {
      session.quietUntil = now + CoordinatorSession.quiet
      session.unknownUntil = session.quietUntil
    }
    return session
  }

  /// Writes the session durably.
  /// - Throws: ``AgentError`` with code `.storage`.
  func save(_ session: CoordinatorSession, at clock: ClockReading) throws(AgentError) {
    func wall(_ instant: Duration) -> Int64 { clock.wallMs + (instant - clock.now).milliseconds(rounded: .towardZero) }
    let heartbeats = session.heartbeats
    let unsure = [heartbeats.unsure, heartbeats.sent].compactMap(\.self).max()
    let contents = Contents(
      coordinator: coordinator, agentId: agentID, isRegistered: session.enrolment == .registered,
      mayBeRegistered: session.enrolment == .uncertain, meshToken: session.meshToken,
      registrationsAtMs: session.registrations.map(wall), lastHeartbeatAtMs: heartbeats.last.map(wall),
      firstHeartbeatAtMs: heartbeats.first.map(wall), unsureHeartbeatAtMs: unsure.map(wall),
      unsignedUntilMs: session.unsignedUntil.map(wall),
      gap: Gap(
        quietUntilMs: session.quietUntil.map(wall), unknownUntilMs: session.unknownUntil.map(wall),
        strikesAtMs: session.strikes.map(wall)),
      conduct: session.conduct.moved(fromMs: clock.now.milliseconds(rounded: .towardZero), toMs: clock.wallMs),
      savedAtMs: clock.wallMs, boot: clock.boot)
    do throws(AgentError) {
      try kept.save(contents, isForPeople: false)
    } catch {
      // A file can be renamed on a full disk, too.
      rename(kept.file.path, stale.file.path)
      throw error
    }
    unlink(stale.file.path)
  }
}
