internal import FoundationEssentials
internal import GRDB
internal import SQLiteFiles
internal import Streams
public import Timing

/// The items of an upload queue, in a SQLite file.
///
/// Several processes may have the file open; one at a time uploads. Changes are on disk when a call returns (write-ahead
/// log, `synchronous=FULL`).
///
/// ```swift
/// let store = try QueueStore(path: "/var/lib/example/uploads.sqlite")
/// for item in try store.items(in: [.failed]) {
///   print(item.id, item.request.key, item.problem ?? "")
///   try store.retry(item.id)
/// }
/// ```
public final class QueueStore: Sendable {
  /// The path of the SQLite file.
  public var path: String { file.path }
  private let file: SQLiteFile<UploadsError>
  /// The number of changes that users and callers have made through this object.
  private let commands = Lock<Int64>(0)
  /// The updates made through this object.
  let feed = UpdateFeed<UploadUpdate>()

  /// The number of done items that are kept, so that none is uploaded again.
  static let doneLimit = 10_000

  /// Opens the file, creates it if it does not exist, and migrates an older one.
  /// - Parameters:
  ///   - path: The path of the file, in a folder that exists.
  ///   - unixMs: The wall clock, in Unix milliseconds.
  /// - Throws: ``UploadsError`` with code `.storage`; `.noSpace` if the disk is full and the file does not exist, or is one
  ///   of an earlier version. The items of a full disk can be read.
  public init(path: String, unixMs: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds) throws(UploadsError) {
    file = try Self.open(path, unixMs)
  }

  private init(_ file: SQLiteFile<UploadsError>) { self.file = file }

  /// Returns a copy in memory of a queue, for looking at it; no file is created or changed, and none stays open.
  ///
  /// The copy shows one instant of the queue, also while another process uploads it. A file of an earlier version is
  /// shown, and not migrated. Changes of the copy are refused.
  ///
  /// ```swift
  /// let store = try QueueStore.copy(of: "/var/lib/example/uploads.sqlite")
  /// for item in try store.items(in: [.waiting]) { print(item.id, item.request.key) }
  /// ```
  /// - Parameter path: The path of the file; without one, the copy is empty.
  /// - Throws: ``UploadsError`` with code `.storage` if the file exists and cannot be read.
  public static func copy(of path: String) throws(UploadsError) -> QueueStore {
    QueueStore(try SQLiteFile.copy(of: path, layout))
  }

  deinit { feed.end() }

  /// The present wall-clock time, in Unix milliseconds.
  var now: Int64 { file.nowMs }

  static let layout = SQLiteLayout(contents: "a queue", migrator: migrator)

  static let migrator: DatabaseMigrator = {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1: items and events") { database in
      try database.execute(
        sql: """
          CREATE TABLE item (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            bucket TEXT NOT NULL, key TEXT NOT NULL, account TEXT NOT NULL,
            path TEXT NOT NULL, sidecar TEXT, fingerprint TEXT NOT NULL,
            size INTEGER NOT NULL, sha256 TEXT NOT NULL, contentType TEXT NOT NULL, metadata TEXT NOT NULL,
            isReplacing INTEGER NOT NULL, afterwards TEXT NOT NULL,
            state TEXT NOT NULL DEFAULT 'waiting', attempts INTEGER NOT NULL DEFAULT 0,
            queuedAtMs INTEGER NOT NULL, nextAttemptAtMs INTEGER, endedAtMs INTEGER,
            problem TEXT, failure TEXT, uploadID TEXT, parts TEXT NOT NULL DEFAULT '[]',
            UNIQUE (bucket, key)
          );
          CREATE INDEX itemByState ON item (state, id);
          CREATE TABLE event (
            id INTEGER PRIMARY KEY AUTOINCREMENT, atMs INTEGER NOT NULL, item INTEGER NOT NULL, text TEXT NOT NULL
          );
          CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);
          """)
    }
    migrator.registerMigration("2: manifests") { database in
      try database.execute(
        sql: """
          ALTER TABLE item ADD COLUMN manifest TEXT;
          CREATE TABLE manifestEntry (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            bucket TEXT NOT NULL, manifest TEXT NOT NULL, account TEXT NOT NULL, line TEXT NOT NULL
          );
          """)
    }
    migrator.registerMigration("3: sums of parts") { database in
      try database.execute(sql: "ALTER TABLE item ADD COLUMN partSums TEXT")
    }
    migrator.registerMigration("4: events with reasons") { try $0.execute(sql: eventTable) }
    migrator.registerMigration("5: servers") { try $0.execute(sql: serverTables) }
    migrator.registerMigration("6: conditions on completing parts") { database in
      try database.execute(sql: "ALTER TABLE server ADD COLUMN completion TEXT NOT NULL DEFAULT 'unknown'")
    }
    return migrator
  }()

  // MARK: Access

  /// Returns a number that differs after each change by another process, and after each command through this object.
  ///
  /// Commands are ``add(_:)``, ``retry(_:)``, ``pause(_:)`` and so on; the work of a running queue changes nothing.
  /// - Throws: ``UploadsError`` with code `.storage`.
  public func version() throws(UploadsError) -> Int64 {
    try read { try Int64.fetchOne($0, sql: "PRAGMA data_version") ?? 0 } + commands.withLock { $0 }
  }

  /// Writes a change that a running queue must notice.
  func command<Value>(_ phase: String, _ body: (Database) throws -> Value) throws(UploadsError) -> Value {
    defer { commands.withLock { $0 += 1 } }
    return try write(phase, body)
  }

  /// Writes to the database in one transaction.
  /// - Parameter isDurable: A Boolean value that indicates whether the change must survive a power cut. Any change
  ///   survives a kill, and is durable with the next durable one; an item that begins, or is done, is found on the server
  ///   again.
  func write<Value>(
    _ phase: String, isDurable: Bool = true, _ body: (Database) throws -> Value
  ) throws(UploadsError) -> Value {
    try file.write(phase, isDurable: isDurable, body)
  }

  func read<Value>(_ body: (Database) throws -> Value) throws(UploadsError) -> Value { try file.read(body) }

  private static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }()

  static func json(_ value: some Encodable) throws -> String {
    String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}
