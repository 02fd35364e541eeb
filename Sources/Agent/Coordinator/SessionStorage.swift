/// The decision when the session is written to disk.
///
/// A change is written at once, but the time of a heartbeat only once a minute: a program that forgets one merely
/// believes that more time has passed since.
///
/// Without a change it is written once a minute, too, for the time of writing. A board without a clock of its own boots
/// with an earlier time, and only one that is before the time of writing is known to be wrong.
struct SessionStorage: Sendable {
  /// The delay before a write that failed is tried again: 15 s.
  private static let retryDelay: Duration = .seconds(15)

  /// The session as it is on disk, or as it was when it was last to be written.
  private(set) var saved: CoordinatorSession
  /// The instant at which a write that failed is tried again; `nil` after one that succeeded.
  private(set) var retryAt: Duration?
  /// The instant of the last write, or of the start of the service before the first one.
  private var savedAt: Duration?

  /// Creates the state for a session that is on disk.
  init(saved: CoordinatorSession) { self.saved = saved }

  /// A Boolean value that indicates whether the last write succeeded.
  var isStored: Bool { retryAt == nil }

  /// The instant of the next write if nothing changes; `nil` while no heartbeat counts, or after a write that failed.
  var renewalAt: Duration? {
    guard isStored, saved.heartbeats != .none else { return nil }
    return savedAt.map { $0 + HeartbeatHistory.precision }
  }

  /// Notes that the service starts.
  mutating func start(at now: Duration) { savedAt = savedAt ?? now }

  /// Returns `true` if the session is to be written now.
  /// - Parameter isActive: Whether the service works; when it does not, every change is written.
  func isDue(_ session: CoordinatorSession, isActive: Bool, at now: Duration) -> Bool {
    if let retryAt { return retryAt <= now }
    guard isActive else { return saved != session }
    if let renewalAt, renewalAt <= now { return true }
    var known = saved
    known.heartbeats = session.heartbeats
    return known != session || session.heartbeats.differs(from: saved.heartbeats)
  }

  /// Notes that the session is about to be written.
  mutating func save(_ session: CoordinatorSession, at now: Duration) {
    saved = session
    savedAt = now
  }

  /// Notes that the session was written.
  mutating func succeed() { retryAt = nil }

  /// Notes that the session could not be written.
  mutating func fail(at now: Duration) { retryAt = now + Self.retryDelay }
}
