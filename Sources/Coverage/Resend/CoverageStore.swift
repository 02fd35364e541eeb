public import ErrorReporting
internal import GRDB
package import SQLiteFiles
public import Timing

/// The measured sessions that the control server does not have yet, in a SQLite file.
///
/// A change is on disk when its call returns. Each session belongs to a run, so that what a killed program has left is told
/// from what is measured now.
public final class CoverageStore: Sendable {
  let file: SQLiteFile<CoverageError>

  /// The path of the SQLite file.
  public var path: String { file.path }

  /// Opens the file, creates it if it does not exist, and migrates an older one.
  /// - Parameters:
  ///   - path: The path of the file, in a folder that exists.
  ///   - unixMs: The wall clock, in Unix milliseconds.
  /// - Throws: ``CoverageError`` with code `.storage` or `.noSpace`.
  public init(path: String, unixMs: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds) throws(CoverageError)
  {
    file = try SQLiteFile(opening: path, Self.layout, unixMs: unixMs)
  }

  private init(_ file: SQLiteFile<CoverageError>) { self.file = file }

  /// Returns a copy in memory of the stored sessions, for looking at them; no file is created or changed.
  ///
  /// The copy shows one instant, also while another program measures. Changes of the copy are refused.
  /// - Parameter path: The path of the file; without one, the copy is empty.
  /// - Throws: ``CoverageError`` with code `.storage` if the file exists and cannot be read.
  public static func copy(of path: String) throws(CoverageError) -> CoverageStore {
    CoverageStore(try SQLiteFile.copy(of: path, layout))
  }

  /// The present wall-clock time, in microseconds since 1970.
  var nowUs: Int64 { file.nowMs.multipliedReportingOverflow(by: 1000).partialValue }

  private static let layout = SQLiteLayout(contents: "coverage sessions", migrator: migrator)

  private static let migrator: DatabaseMigrator = {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1: sessions and fences") { database in
      try database.execute(
        sql: """
          CREATE TABLE session (
            id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT UNIQUE, server TEXT NOT NULL, run TEXT,
            startedUs INTEGER NOT NULL, anchorUs INTEGER, finalizedUs INTEGER,
            attempts INTEGER NOT NULL DEFAULT 0, isUnconfirmed INTEGER NOT NULL DEFAULT 0,
            refusals INTEGER NOT NULL DEFAULT 0, notBeforeUs INTEGER, problem TEXT
          );
          CREATE INDEX sessionByEnd ON session (finalizedUs, id);
          CREATE TABLE fence (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
            number INTEGER NOT NULL, enteredUs INTEGER NOT NULL, exitedUs INTEGER,
            latitude REAL NOT NULL, longitude REAL NOT NULL, radius REAL NOT NULL,
            accuracy REAL, altitude REAL, bearing REAL, speed REAL,
            technology TEXT NOT NULL, answered INTEGER NOT NULL, lost INTEGER NOT NULL, meanHundredths INTEGER,
            UNIQUE (session, number)
          );
          """)
    }
    migrator.registerMigration("2: the sessions of a run") { database in
      // Each fence looks for the session of its run, which must not take longer with every session that waits.
      try database.execute(sql: "CREATE INDEX sessionByRun ON session (run)")
    }
    return migrator
  }()

  // MARK: Access

  func write<Value>(_ phase: String, _ body: (Database) throws -> Value) throws(CoverageError) -> Value {
    try file.write(phase, body)
  }

  func read<Value>(_ body: (Database) throws -> Value) throws(CoverageError) -> Value { try file.read(body) }
}

extension CodedError: SQLiteStoreError where Domain == CoverageErrorDomain {
  /// Creates the error of a file of sessions.
  package init(_ failure: SQLiteFailure) {
    self.init(
      failure.isOutOfSpace ? .noSpace : .storage, failure.message, errno: failure.errno, hint: failure.hint)
  }
}
