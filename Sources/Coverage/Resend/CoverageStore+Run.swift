package import DurableFiles
internal import GRDB
internal import SQLiteFiles
internal import Timing

/// A run: the life of a program that measures, with the instant at which its clock began.
package struct CoverageRunID: Sendable, Hashable {
  /// The identifier, which no other run has.
  package var id: String
  /// The address of the control server.
  package var server: String
  /// The wall clock at the start of the run, in microseconds since 1970.
  package var startUs: Int64

  package init(id: String, server: String, startUs: Int64) {
    self.id = id
    self.server = server
    self.startUs = startUs
  }

  /// The wall clock at an instant of the run. A clock that is set meanwhile changes nothing.
  func wallUs(_ instant: Duration) -> Int64 { startUs.addingClamped(StoredFence.microseconds(instant)) }
}

extension CoverageStore {
  /// Takes the lock of the program that measures; `nil` if another one has it.
  package func lockForRun() throws(CoverageError) -> FileLock? { try lock(runLock) }

  /// A Boolean value that indicates whether a program measures with the store; a look keeps none from its lock.
  package var isBeingMeasured: Bool {
    get throws(CoverageError) {
      do throws(FileError) { return try FileLock.isHeld(path: runLock) } catch {
        throw CoverageError(SQLiteFailure(error))
      }
    }
  }

  private var runLock: String { path + ".run" }

  /// Takes the lock of the program that sends; `nil` if another one has it.
  func lockForSending() throws(CoverageError) -> FileLock? { try lock(path + ".send") }

  private func lock(_ path: String) throws(CoverageError) -> FileLock? {
    do throws(FileError) { return try FileLock(path: path, attempts: 20) } catch {
      throw CoverageError(SQLiteFailure(error))
    }
  }

  /// Stores a session without an identifier for a run that begins.
  package func begin(_ run: CoverageRunID) throws(CoverageError) {
    try write("begin a run") { database in
      try database.execute(
        sql: "INSERT INTO session (server, run, startedUs) VALUES (?, ?, ?)",
        arguments: [run.server, run.id, run.startUs])
    }
  }

  /// Stores what the fences of a run demand, all of it or nothing.
  /// - Throws: ``CoverageError`` with code `.storage` or `.noSpace`, and `.invalidReply` if the server has granted an
  ///   identifier that another session has.
  package func apply(
    _ actions: [FenceMachine.Action], of run: CoverageRunID, at instant: Duration
  ) throws(CoverageError) {
    try write("store fences") { database in
      for action in actions { try Self.apply(action, run, run.wallUs(instant), database) }
    }
  }

  private static func apply(
    _ action: FenceMachine.Action, _ run: CoverageRunID, _ nowUs: Int64, _ database: Database
  ) throws {
    switch action {
    case .add(let fence): try add(StoredFence(fence, runStartUs: run.startUs), run, database)
    case .update(let fence): try update(StoredFence(fence, runStartUs: run.startUs), run, database)
    case .remove(let number):
      try database.execute(
        sql: "DELETE FROM fence WHERE number = ? AND session IN (SELECT id FROM session WHERE run = ?)",
        arguments: [number, run.id])
    case .assign(let uuid):
      try assign(uuid, anchorUs: nowUs, to: try openSession(run, database), database)
    case .begin(let uuid):
      try finalise(run, nowUs, database)
      try database.execute(
        sql: "INSERT INTO session (server, run, startedUs) VALUES (?, ?, ?)",
        arguments: [run.server, run.id, nowUs])
      try assign(uuid, anchorUs: nowUs, to: database.lastInsertedRowID, database)
    case .finalise: try finalise(run, nowUs, database)
    case .giveUp: break
    }
  }

  /// The newest session of a run that is not over, otherwise its newest one.
  private static func openSession(_ run: CoverageRunID, _ database: Database) throws -> Int64 {
    let id = try Int64.fetchOne(
      database, sql: "SELECT id FROM session WHERE run = ? ORDER BY finalizedUs IS NULL DESC, id DESC LIMIT 1",
      arguments: [run.id])
    guard let id else { throw CoverageError(.noSuchSession, "the run has no session") }
    return id
  }

  static func assign(_ uuid: String, anchorUs: Int64, to id: Int64, _ database: Database) throws {
    let other = try Int64.fetchOne(
      database, sql: "SELECT id FROM session WHERE uuid = ? AND id != ?", arguments: [uuid, id])
    guard other == nil else {
      throw CoverageError(.invalidReply, "the control server has granted the identifier of another session")
    }
    try database.execute(
      sql: "UPDATE session SET uuid = ?, anchorUs = ? WHERE id = ?", arguments: [uuid, anchorUs, id])
  }

  private static func finalise(_ run: CoverageRunID, _ nowUs: Int64, _ database: Database) throws {
    try database.execute(
      sql: "UPDATE session SET finalizedUs = max(?, startedUs) WHERE run = ? AND finalizedUs IS NULL",
      arguments: [nowUs, run.id])
  }

  private static func add(_ fence: StoredFence, _ run: CoverageRunID, _ database: Database) throws {
    // The place of a fence never changes; preparing the statement takes longer than running it.
    try database.cachedStatement(
      sql: """
        INSERT INTO fence (session, number, enteredUs, exitedUs, latitude, longitude, radius, accuracy, altitude, bearing,
          speed, technology, answered, lost, meanHundredths) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    ).execute(
      arguments: [
        try openSession(run, database), fence.number, fence.enteredUs, fence.exitedUs, fence.place.latitude,
        fence.place.longitude, fence.radius, fence.place.accuracy, fence.place.altitude, fence.place.bearing,
        fence.place.speed, fence.technology.rawValue, fence.answered, fence.lost, fence.meanHundredths,
      ])
  }

  private static func update(_ fence: StoredFence, _ run: CoverageRunID, _ database: Database) throws {
    // A session that was sent meanwhile is gone, with its fences.
    try database.cachedStatement(
      sql: """
        UPDATE fence SET exitedUs = ?, technology = ?, answered = ?, lost = ?, meanHundredths = ?
          WHERE number = ? AND session IN (SELECT id FROM session WHERE run = ?)
        """
    ).execute(
      arguments: [
        fence.exitedUs, fence.technology.rawValue, fence.answered, fence.lost, fence.meanHundredths, fence.number,
        run.id,
      ])
  }
}
