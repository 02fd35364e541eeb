internal import DBus
internal import FoundationEssentials
internal import GRDB
import Glibc
internal import Streams
public import Timing

/// The items of a queue, in a file of SQLite. Several programs may have it open; one at a time uploads.
///
/// What a call has done is on disk when it returns (write-ahead log, `synchronous=FULL`).
public final class QueueStore: Sendable {
  /// Where the file is.
  public let path: String
  let database: DatabaseQueue
  private let unixMs: @Sendable () -> Int64
  /// How often something was queued, or a person has changed something, through this object.
  private let commands = Lock<Int64>(0)

  /// How many items that are done are remembered, so that none is queued again: 10,000.
  static let memoryLimit = 10_000

  /// Opens the file, makes it if it is not there, and brings it to this version.
  /// - Parameters:
  ///   - path: where the file is, or is to be.
  ///   - unixMs: this machine's clock, in milliseconds since 1970.
  /// - Throws: ``UploadsError``: `.storage`, `.noSpace`.
  public init(path: String, unixMs: @escaping @Sendable () -> Int64 = WallClock.unixMilliseconds) throws(UploadsError) {
    (self.path, self.unixMs) = (path, unixMs)
    database = try Self.caught("opening \(path)") {
      var configuration = Configuration()
      configuration.journalMode = .wal
      // Another program writes for a moment at a time.
      configuration.busyMode = .timeout(10)
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      // Afterwards: with a write-ahead log GRDB sets NORMAL, whatever was said before.
      try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
      try Self.migrator.migrate(queue)
      return queue
    }
  }

  var now: Int64 { unixMs() }

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
    return migrator
  }()

  // MARK: Putting in

  /// Queues uploads, all or none. When this returns they are on disk.
  ///
  /// One that is queued already, or was uploaded, is not queued twice: its number is returned.
  /// - Returns: the numbers, in order.
  /// - Throws: ``UploadsError``: `.invalidArgument`, `.fileMissing`, `.alreadyExists` when another file is queued under
  ///   the same key, `.storage`, `.noSpace`.
  @discardableResult public func add(_ requests: [UploadRequest]) throws(UploadsError) -> [Int64] {
    var prints: [String] = []
    for request in requests {
      try request.check()
      prints.append(try Fingerprint.of(request.content.path))
    }
    return try command("queueing") { database in
      try zip(requests, prints).map { request, print in try self.add(request, print, database) }
    }
  }

  private func add(_ request: UploadRequest, _ fingerprint: String, _ database: Database) throws -> Int64 {
    if let id = try insert(request, fingerprint, database) { return id }
    let known = try Row.fetchOne(
      database, sql: "SELECT * FROM item WHERE bucket = ? AND key = ?", arguments: [request.bucket, request.key])
    let item = try known.map { try UploadItem(row: $0) }
    if let item, item.request.content.sha256 == request.content.sha256, item.request.account == request.account {
      return item.id
    }
    let taken = UploadsError(
      .alreadyExists, "another file is queued, or was uploaded, as \(request.key) in \(request.bucket)",
      hint: "choose another key, or have it replaced once the first is done")
    guard let item, request.isReplacing, [.done, .failed].contains(item.state) else { throw taken }
    try database.execute(sql: "DELETE FROM item WHERE id = ?", arguments: [item.id])
    guard let id = try insert(request, fingerprint, database) else { throw taken }
    return id
  }

  /// - Returns: its number; `nil` when something is queued under its key.
  private func insert(_ request: UploadRequest, _ fingerprint: String, _ database: Database) throws -> Int64? {
    // Preparing it takes longer than running it.
    try database.cachedStatement(
      sql: """
        INSERT INTO item (bucket, key, account, path, sidecar, fingerprint, size, sha256, contentType, metadata,
          partSums, isReplacing, afterwards, manifest, queuedAtMs)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (bucket, key) DO NOTHING
        """
    ).execute(
      arguments: [
        request.bucket, request.key, request.account, request.content.path, request.sidecar, fingerprint,
        request.content.size, request.content.sha256, request.content.contentType,
        try Self.json(request.content.metadata), try request.content.partSums.map(Self.json), request.isReplacing,
        request.afterwards.rawValue, request.manifest, now,
      ])
    return database.changesCount == 1 ? database.lastInsertedRowID : nil
  }

  // MARK: Access

  /// A number that is another one after any other program has changed something, or somebody has something done through
  /// this object, of which SQLite's own number knows nothing. What a queue that runs does itself does not change it.
  /// - Throws: ``UploadsError`` with code `.storage`.
  public func version() throws(UploadsError) -> Int64 {
    try read { try Int64.fetchOne($0, sql: "PRAGMA data_version") ?? 0 } + commands.withLock { $0 }
  }

  /// Writes what somebody wants; a queue that runs hears of it.
  func command<Value>(_ phase: String, _ body: (Database) throws -> Value) throws(UploadsError) -> Value {
    defer { commands.withLock { $0 += 1 } }
    return try write(phase, body)
  }

  /// Writes.
  /// - Parameter isLasting: whether it has to survive a power cut. What does not survives a kill all the same, and is on
  ///   disk with the next thing that does: an item that begins, or is done, is found on the server again.
  func write<Value>(
    _ phase: String, isLasting: Bool = true, _ body: (Database) throws -> Value
  ) throws(UploadsError) -> Value {
    try Self.caught("\(phase) in \(path)") {
      if isLasting { return try database.write(body) }
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
    guard let value else { throw UploadsError(.storage, "a transaction has ended without a result") }
    return value
  }

  func read<Value>(_ body: (Database) throws -> Value) throws(UploadsError) -> Value {
    try Self.caught("reading \(path)") { try database.read(body) }
  }

  private static func caught<Value>(_ phase: String, _ body: () throws -> Value) throws(UploadsError) -> Value {
    do {
      return try body()
    } catch let error as UploadsError {
      throw error
    } catch let error as DatabaseError {
      throw UploadsError(
        error.resultCode == .SQLITE_FULL ? .noSpace : .storage,
        "\(phase): \(error.message ?? "\(error.resultCode)")",
        hint: error.resultCode == .SQLITE_FULL ? "make room on the disk" : nil)
    } catch {
      throw UploadsError(.storage, "\(phase): \(error)")
    }
  }

  private static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }()

  static func json(_ value: some Encodable) throws -> String {
    String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}

/// What tells a file from another of the same name.
enum Fingerprint {
  static func of(_ path: String) throws(UploadsError) -> String {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .disk("looking at \(path)") }
    let time = status.st_mtim
    return "\(status.st_dev):\(status.st_ino):\(status.st_size):\(time.tv_sec).\(time.tv_nsec)"
  }
}
