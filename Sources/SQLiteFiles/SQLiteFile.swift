internal import DurableFiles
internal import ErrorReporting
package import GRDB
internal import Timing

/// The tables of a file of SQLite, and what it contains in words.
package struct SQLiteLayout: Sendable {
  /// The contents in a few words, such as `coverage sessions`.
  package var contents: String
  /// The migrations, which create the tables.
  package var migrator: DatabaseMigrator

  package init(contents: String, migrator: DatabaseMigrator) {
    self.contents = contents
    self.migrator = migrator
  }
}

/// A file of SQLite that survives kills and power cuts, or a copy of one in memory.
///
/// A change is on disk when its call returns (write-ahead log, `synchronous=FULL`), and several processes may have the file
/// open. Each error is one of its library.
package struct SQLiteFile<Failure: SQLiteStoreError>: Sendable {
  /// The path of the file, also of a copy.
  package let path: String
  package let database: DatabaseQueue
  private let contents: String
  /// A Boolean value that indicates whether changes are refused: GRDB's own refusal ends with the first read.
  private let isCopy: Bool
  private let unixMs: @Sendable () -> Int64

  init(
    path: String, _ database: DatabaseQueue, _ contents: String, isCopy: Bool,
    unixMs: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds
  ) {
    self.path = path
    self.database = database
    self.contents = contents
    self.isCopy = isCopy
    self.unixMs = unixMs
  }

  /// The present wall-clock time, which dates records, in milliseconds since 1970.
  package var nowMs: Int64 { unixMs() }

  /// Opens a file, creates it if it does not exist, and migrates an older one.
  /// - Parameters:
  ///   - path: The path of the file, in a folder that exists.
  ///   - layout: The tables of the file.
  ///   - isAlone: `true` to open it for this process alone, which needs no further file: for a full disk.
  ///   - unixMs: The wall clock, in Unix milliseconds.
  package init(
    opening path: String, _ layout: SQLiteLayout, isAlone: Bool = false, unixMs: @escaping @Sendable () -> Int64
  ) throws(Failure) {
    // SQLite would follow a link, and gives further files the owner and the mode of this one.
    do throws(FileError) { try Disk().claim(path) } catch { throw Failure(SQLiteFailure(error)) }
    let database = try Self.caught("open \(path)", layout.contents) {
      var configuration = Configuration()
      // Another process writes for a moment at a time.
      configuration.busyMode = .timeout(10)
      if isAlone {
        // The index of the write-ahead log is then in memory.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
      } else {
        configuration.journalMode = .wal
      }
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      // Afterwards: with a write-ahead log, GRDB sets NORMAL at first.
      try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
      try layout.migrator.migrate(queue)
      return queue
    }
    self.init(path: path, database, layout.contents, isCopy: false, unixMs: unixMs)
  }

  // MARK: Access

  /// Reads at one instant.
  package func read<Value>(_ body: (Database) throws -> Value) throws(Failure) -> Value {
    try Self.caught("read \(path)", contents) { try database.read(body) }
  }

  /// Writes in one transaction; a copy refuses.
  /// - Parameters:
  ///   - phase: The operation, for errors.
  ///   - isDurable: A Boolean value that indicates whether the change must survive a power cut. Any change survives a kill,
  ///     and is durable with the next durable one.
  ///   - body: A closure that makes the change.
  package func write<Value>(
    _ phase: String, isDurable: Bool = true, _ body: (Database) throws -> Value
  ) throws(Failure) -> Value {
    guard !isCopy else { throw Failure(SQLiteFailure("\(phase) in \(path): a copy for looking is not changed")) }
    return try Self.caught("\(phase) in \(path)", contents) {
      if isDurable { return try database.write(body) }
      return try database.writeWithoutTransaction { database in
        try database.execute(sql: "PRAGMA synchronous = NORMAL")
        let result = Result { try Self.inTransaction(database, body) }
        try database.execute(sql: "PRAGMA synchronous = FULL")
        return try result.get()
      }
    }
  }

  private static func inTransaction<Value>(_ database: Database, _ body: (Database) throws -> Value) throws -> Value {
    var value: Value?
    try database.inTransaction {
      value = try body(database)
      return .commit
    }
    guard let value else { throw Failure(SQLiteFailure("the transaction returned no result")) }
    return value
  }

  static func caught<Value>(
    _ phase: String, _ contents: String, _ body: () throws -> Value
  ) throws(Failure) -> Value {
    do {
      return try body()
    } catch let error as Failure {
      throw error
    } catch let error as DatabaseError {
      throw Failure(SQLiteFailure(phase, error, contents: contents))
    } catch {
      throw Failure(SQLiteFailure("\(phase): \(error.safeText)"))
    }
  }
}

extension Row {
  /// Returns the value of a column.
  /// - Throws: An error for a value or a column that a corrupt file lacks, on which a subscript would trap.
  package func value<Value: DatabaseValueConvertible & StatementColumnConvertible>(_ column: String) throws -> Value {
    try decode(Value.self, forColumn: column)
  }

  /// Returns the value of a column; `nil` for none.
  /// - Throws: An error for a value or a column that a corrupt file lacks, on which a subscript would trap.
  package func optional<Value: DatabaseValueConvertible & StatementColumnConvertible>(
    _ column: String
  ) throws -> Value? {
    try decode(Value?.self, forColumn: column)
  }
}
