internal import GRDB
internal import Timing

extension CoverageStore {
  /// A session that is about to be sent.
  struct Outgoing: Sendable {
    var session: CoverageSession
    var fences: [StoredFence]
    /// A Boolean value that indicates whether the server may have it from an earlier attempt.
    var wasUnconfirmed: Bool
  }

  /// Ends the sessions that killed programs have left; the caller has the lock of the program that measures.
  ///
  /// A session of an older version belongs to no run: it counts as over when nothing of it is younger than 15 minutes.
  /// - Parameter run: The run of the caller, whose sessions are not touched; `nil` if it does not measure.
  func recover(except run: String?) throws(CoverageError) {
    let nowUs = nowUs
    try write("end what earlier programs have left") { database in
      try database.execute(
        sql: """
          UPDATE session SET finalizedUs = \(Self.lastTime)
            WHERE finalizedUs IS NULL AND (run != ?1 OR run IS NULL AND \(Self.lastTime) <= ?2)
          """, arguments: [run ?? "", nowUs.subtractingClamped(ResendRules.legacyAgeUs)])
    }
  }

  private static let lastTime =
    "max(startedUs, coalesce((SELECT max(coalesce(exitedUs, enteredUs)) FROM fence WHERE session = session.id), 0))"

  /// Removes finished sessions without fences, and those that are older than 7 days.
  /// - Returns: The number of sessions with fences that were removed for their age.
  @discardableResult func removeOutdated() throws(CoverageError) -> Int {
    let oldestUs = nowUs.subtractingClamped(ResendRules.longestAgeUs)
    return try write("remove old sessions") { database in
      try database.execute(
        sql: """
          DELETE FROM session
            WHERE finalizedUs IS NOT NULL AND NOT EXISTS (SELECT 1 FROM fence WHERE session = session.id)
          """)
      try database.execute(sql: "DELETE FROM session WHERE finalizedUs < ?", arguments: [oldestUs])
      return database.changesCount
    }
  }

  /// Returns the number of finished sessions with fences, which wait to be sent or are being sent.
  package func waiting() throws(CoverageError) -> Int {
    try read { database in
      try Int.fetchOne(
        database,
        sql: """
          SELECT count(*) FROM session
            WHERE finalizedUs IS NOT NULL AND EXISTS (SELECT 1 FROM fence WHERE session = session.id)
          """) ?? 0
    }
  }

  /// Returns some finished sessions of a server after another one, the oldest first; none when there are no more.
  ///
  /// They are read in portions: a run writes to the same file meanwhile, and must not wait for thousands of them.
  func finished(at server: String, after last: CoverageSession?) throws(CoverageError) -> [CoverageSession] {
    let end: StatementArguments = [last?.finalizedUs ?? .min, last?.id ?? .min, server]
    return try read { database in
      try Self.sessions(
        "WHERE (finalizedUs, session.id) > (?, ?) AND server = ?", end, limit: Self.portion, database)
    }
  }

  private static let portion = 100

  /// Stores the identifier that was granted to a session that was measured without one; all its times lie before it.
  func anchor(_ id: Int64, uuid: String) throws(CoverageError) {
    let nowUs = nowUs
    try write("anchor session \(id)") { try Self.assign(uuid, anchorUs: nowUs, to: id, $0) }
  }

  /// Notes that a session is about to be sent, durably, and returns it; `nil` if it is gone.
  func beginSending(_ id: Int64) throws(CoverageError) -> Outgoing? {
    try write("note that session \(id) is sent") { database in
      guard let session = try Self.sessions("WHERE session.id = ?", [id], database).first else { return nil }
      try database.execute(
        sql: "UPDATE session SET attempts = attempts + 1, isUnconfirmed = 1 WHERE id = ?", arguments: [id])
      return Outgoing(
        session: session, fences: try Self.fences(of: id, database), wasUnconfirmed: session.sending.isUnconfirmed)
    }
  }

  /// Removes a session that the server has.
  func remove(delivered id: Int64) throws(CoverageError) {
    try write("remove session \(id)") { try $0.execute(sql: "DELETE FROM session WHERE id = ?", arguments: [id]) }
  }

  /// Stores why a session was not sent, and when it is sent again.
  func postpone(_ id: Int64, _ sending: CoverageSession.Sending) throws(CoverageError) {
    try write("note a failure of session \(id)") { database in
      try database.execute(
        sql: """
          UPDATE session SET attempts = ?, isUnconfirmed = ?, refusals = ?, notBeforeUs = ?, problem = ? WHERE id = ?
          """,
        arguments: [
          sending.attempts, sending.isUnconfirmed, sending.refusals, sending.notBeforeUs, sending.problem, id,
        ])
    }
  }
}
