internal import DurableFiles
public import ErrorReporting
internal import FoundationEssentials
internal import GRDB
public import Timing

/// The measured sessions that the control server does not have yet, in a SQLite file.
///
/// A change is on disk when its call returns. Each session belongs to a run, so that what a killed program has left is told
/// from what is measured now.
public final class CoverageStore: Sendable {
  /// The path of the SQLite file.
  public let path: String
  let database: DatabaseQueue
  private let wall: @Sendable () -> Int64

  /// Opens the file, creates it if it does not exist, and migrates an older one.
  /// - Parameters:
  ///   - path: The path of the file, in a folder that exists.
  ///   - unixMs: The wall clock, in Unix milliseconds.
  /// - Throws: ``CoverageError`` with code `.storage` or `.noSpace`.
  public init(path: String, unixMs: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds) throws(CoverageError)
  {
    self.path = path
    wall = unixMs
    // SQLite would follow a link, and gives further files the owner and the mode of this one.
    do throws(FileError) { try Disk().claim(path) } catch { throw CoverageError(error) }
    database = try Self.caught("open \(path)") {
      var configuration = Configuration()
      // Another process writes for a moment at a time.
      configuration.busyMode = .timeout(10)
      configuration.journalMode = .wal
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      // Afterwards: with a write-ahead log, GRDB sets NORMAL at first.
      try queue.writeWithoutTransaction { database in
        try database.execute(sql: "PRAGMA synchronous = FULL")
      }
      try Self.migrator.migrate(queue)
      return queue
    }
  }

  /// Creates a store of a database that is open.
  init(path: String, database: DatabaseQueue) {
    self.path = path
    self.database = database
    wall = WallClock.unixMilliseconds
  }

  /// The present wall-clock time, in microseconds since 1970.
  var nowUs: Int64 { wall().multipliedReportingOverflow(by: 1000).partialValue }

  static let migrator: DatabaseMigrator = {
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
    return migrator
  }()

  // MARK: Access

  func write<Value>(_ phase: String, _ body: (Database) throws -> Value) throws(CoverageError) -> Value {
    try Self.caught("\(phase) in \(path)") { try database.write(body) }
  }

  func read<Value>(_ body: (Database) throws -> Value) throws(CoverageError) -> Value {
    try Self.caught("read \(path)") { try database.read(body) }
  }

  static func caught<Value>(_ phase: String, _ body: () throws -> Value) throws(CoverageError) -> Value {
    do {
      return try body()
    } catch let error as CoverageError {
      throw error
    } catch let error as DatabaseError {
      let isFull = error.resultCode.primaryResultCode == .SQLITE_FULL
      throw CoverageError(
        isFull ? .noSpace : .storage, "\(phase): \(words(for: error))",
        hint: isFull ? "free some space on the disk" : nil)
    } catch {
      throw CoverageError(.storage, "\(phase): \(error.safeText)")
    }
  }

  /// Returns the reason of a failure in words that are no library's, where the library's would mislead.
  private static func words(for error: DatabaseError) -> String {
    switch error.resultCode.primaryResultCode {
    case .SQLITE_FULL: "there is no space left on the disk"
    case .SQLITE_NOTADB: "the file is not one of coverage sessions, or is damaged"
    case .SQLITE_CORRUPT: "the file is damaged"
    case .SQLITE_BUSY: "another program keeps the file locked"
    case .SQLITE_IOERR: "the disk fails to read or write"
    default: error.message ?? "\(error.resultCode)"
    }
  }
}

extension CodedError where Domain == CoverageErrorDomain {
  /// Creates an error for a file that could not be used.
  init(_ error: FileError) {
    self.init(
      error.isOutOfSpace ? .noSpace : .storage, "\(error)", errno: error.errno,
      hint: error.isOutOfSpace ? "free some space on the disk" : nil)
  }
}
