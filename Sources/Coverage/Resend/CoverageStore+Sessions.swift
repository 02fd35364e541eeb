internal import GRDB

extension CoverageStore {
  /// Returns all sessions, the oldest first.
  /// - Throws: ``CoverageError`` with code `.storage`.
  public func sessions() throws(CoverageError) -> [CoverageSession] {
    try read { try Self.sessions("", [], $0) }
  }

  /// Returns the session with a number.
  /// - Throws: ``CoverageError`` with code `.noSuchSession` or `.storage`.
  public func session(_ id: Int64) throws(CoverageError) -> CoverageSession {
    guard let session = try read({ try Self.sessions("WHERE session.id = ?", [id], $0).first }) else {
      throw CoverageError(.noSuchSession, "there is no session \(id)")
    }
    return session
  }

  /// Returns the fences of a session, the first first.
  /// - Throws: ``CoverageError`` with code `.storage`.
  public func fences(of id: Int64) throws(CoverageError) -> [StoredFence] { try read { try Self.fences(of: id, $0) } }

  /// Removes a session that nobody measures any more, without sending it.
  /// - Throws: ``CoverageError`` with code `.noSuchSession`; `.busy` if it may be measured or sent at present; `.storage`.
  public func drop(_ id: Int64) throws(CoverageError) {
    guard let sending = try lockForSending() else {
      throw CoverageError(.busy, "another program sends the sessions in \(path)")
    }
    defer { sending.release() }
    if try session(id).finalizedUs == nil {
      guard let run = try lockForRun() else {
        throw CoverageError(.busy, "session \(id) is being measured", hint: "end the measurement first")
      }
      // What has no end and no program has been left by one that was killed.
      run.release()
    }
    try write("drop session \(id)") { try $0.execute(sql: "DELETE FROM session WHERE id = ?", arguments: [id]) }
  }

  // MARK: Rows

  static func sessions(
    _ condition: String, _ arguments: StatementArguments, limit: Int = -1, _ database: Database
  ) throws -> [CoverageSession] {
    let rows = try Row.fetchAll(
      database,
      sql: """
        SELECT session.*, (SELECT count(*) FROM fence WHERE fence.session = session.id) AS fences FROM session
          \(condition) ORDER BY \(limit < 0 ? "finalizedUs IS NULL, " : "")finalizedUs, session.id LIMIT \(limit)
        """, arguments: arguments)
    return try rows.map { try CoverageSession($0) }
  }

  static func fences(of id: Int64, _ database: Database) throws -> [StoredFence] {
    let rows = try Row.fetchAll(
      database, sql: "SELECT * FROM fence WHERE session = ? ORDER BY enteredUs, number", arguments: [id])
    return try rows.map { try StoredFence($0) }
  }
}

extension CoverageSession {
  fileprivate init(_ row: Row) throws {
    id = try row.value("id")
    uuid = try row.optional("uuid")
    server = try row.value("server")
    run = try row.optional("run")
    startedUs = try row.value("startedUs")
    anchorUs = try row.optional("anchorUs")
    finalizedUs = try row.optional("finalizedUs")
    fences = try row.value("fences")
    sending = Sending()
    sending.attempts = try row.value("attempts")
    sending.isUnconfirmed = try row.value("isUnconfirmed")
    sending.refusals = try row.value("refusals")
    sending.notBeforeUs = try row.optional("notBeforeUs")
    sending.problem = try row.optional("problem")
  }
}

extension StoredFence {
  fileprivate init(_ row: Row) throws {
    number = try row.value("number")
    enteredUs = try row.value("enteredUs")
    exitedUs = try row.optional("exitedUs")
    let location = CoverageLocation(
      latitude: try row.value("latitude"), longitude: try row.value("longitude"),
      accuracy: try row.optional("accuracy"), altitude: try row.optional("altitude"),
      bearing: try row.optional("bearing"), speed: try row.optional("speed"))
    guard let location else {
      throw CoverageError(.storage, "fence \(number) has no place on the Earth", hint: "drop its session")
    }
    place = location
    radius = try row.value("radius")
    technology = CoverageTechnology(rawValue: try row.value("technology")) ?? .unknown
    answered = try row.value("answered")
    lost = try row.value("lost")
    meanHundredths = try row.optional("meanHundredths")
  }
}
