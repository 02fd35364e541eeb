internal import FoundationEssentials
internal import GRDB
internal import SQLiteFiles
public import Timing

/// The clients and sessions of a control server, in a SQLite file.
///
/// A change is on disk when its call returns, so that what a client was told also holds after a kill.
public final class CoverageArchive: Sendable {
  private let file: SQLiteFile<CoverageError>

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

  /// Returns a copy in memory, for looking at it; no file is created or changed, and changes of the copy are refused.
  /// - Parameter path: The path of the file; without one, the copy is empty.
  /// - Throws: ``CoverageError`` with code `.storage` if the file exists and cannot be read.
  public static func copy(of path: String) throws(CoverageError) -> CoverageArchive {
    CoverageArchive(try SQLiteFile.copy(of: path, layout))
  }

  private static let layout = SQLiteLayout(contents: "received coverage sessions", migrator: migrator)

  private static let migrator: DatabaseMigrator = {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1: clients and sessions") { database in
      try database.execute(
        sql: """
          CREATE TABLE client (uuid TEXT PRIMARY KEY, seenMs INTEGER NOT NULL) WITHOUT ROWID;
          CREATE TABLE session (
            id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE, client TEXT NOT NULL, loop TEXT NOT NULL,
            counter INTEGER NOT NULL, requestMs INTEGER NOT NULL, grantedMs INTEGER NOT NULL,
            receivedMs INTEGER, fences TEXT, count INTEGER NOT NULL DEFAULT 0,
            UNIQUE (client, loop, counter)
          );
          CREATE INDEX sessionByRequest ON session (client, requestMs);
          CREATE INDEX openSession ON session (grantedMs) WHERE receivedMs IS NULL;
          """)
    }
    return migrator
  }()

  // MARK: Limits

  /// The largest number of clients.
  static let clientLimit = 100_000
  /// The largest number of sessions of a client without a result.
  static let openLimit = 500
  /// The time after which a session without a result is given up: 8 days, one more than a client keeps it.
  static let openAgeMs: Int64 = 8 * 86_400_000

  // MARK: Clients

  /// Returns the identifier of a client: its own if this server has assigned it, or a new one.
  func client(_ known: String?) throws(CoverageError) -> String? {
    let nowMs = file.nowMs
    return try file.write("store a client") { database in
      if let known, try Self.isClient(known, database) {
        try database.execute(sql: "UPDATE client SET seenMs = ? WHERE uuid = ?", arguments: [nowMs, known])
        return known
      }
      guard try Int.fetchOne(database, sql: "SELECT count(*) FROM client") ?? 0 < Self.clientLimit else { return nil }
      let uuid = UUID().uuidString.lowercased()
      try database.execute(sql: "INSERT INTO client (uuid, seenMs) VALUES (?, ?)", arguments: [uuid, nowMs])
      return uuid
    }
  }

  private static func isClient(_ uuid: String, _ database: Database) throws -> Bool {
    try Bool.fetchOne(database, sql: "SELECT count(*) > 0 FROM client WHERE uuid = ?", arguments: [uuid]) ?? false
  }

  // MARK: Sessions

  /// A session that was granted to a client.
  struct Granted: Sendable, Hashable {
    var uuid: String
    var loop: String
    /// The place of the session in its chain, from 1 on.
    var counter: Int
  }

  /// The result of a request, of which a refusal is no failure of the file.
  private typealias Outcome<Value> = Result<Value, ServedRequest.Refusal>

  /// Grants a session; a request that is repeated with its time and its chain is granted the same one.
  /// - Throws: ``ServedRequest/Refusal`` for an unknown client or chain, and for too many open sessions; ``CoverageError``.
  func grant(_ client: String, loop: String?, requestMs: Int64) throws -> Granted {
    let nowMs = file.nowMs
    let outcome: Outcome<Granted> = try file.write("grant a session") { database in
      guard try Self.isClient(client, database) else { return .failure(.init("Unknown client \(client)")) }
      if let same = try Self.granted(client, loop, requestMs, database) { return .success(same) }
      try database.execute(
        sql: "DELETE FROM session WHERE receivedMs IS NULL AND grantedMs < ?", arguments: [nowMs - Self.openAgeMs])
      var last: Int?
      if let loop {
        last = try Int.fetchOne(
          database, sql: "SELECT max(counter) FROM session WHERE client = ? AND loop = ?", arguments: [client, loop])
        if last == nil { return .failure(.init("Unknown loop_uuid \(loop)")) }
      }
      let open = try Int.fetchOne(
        database, sql: "SELECT count(*) FROM session WHERE client = ? AND receivedMs IS NULL", arguments: [client])
      guard open ?? 0 < Self.openLimit else { return .failure(.init("too many open sessions", status: 429)) }
      let granted = Granted(
        uuid: UUID().uuidString.lowercased(), loop: loop ?? "L" + UUID().uuidString.lowercased(),
        counter: (last ?? 0) + 1)
      try database.execute(
        sql: "INSERT INTO session (uuid, client, loop, counter, requestMs, grantedMs) VALUES (?, ?, ?, ?, ?, ?)",
        arguments: [granted.uuid, client, granted.loop, granted.counter, requestMs, nowMs])
      return .success(granted)
    }
    return try outcome.get()
  }

  /// Returns the open session that the same request was granted before.
  private static func granted(
    _ client: String, _ loop: String?, _ requestMs: Int64, _ database: Database
  ) throws -> Granted? {
    // A request without a chain begins one, of which the session is the first.
    let row = try Row.fetchOne(
      database,
      sql: """
        SELECT uuid, loop, counter FROM session
          WHERE client = ?1 AND requestMs = ?2 AND receivedMs IS NULL AND (loop = ?3 OR ?3 IS NULL AND counter = 1)
          ORDER BY id DESC
        """, arguments: [client, requestMs, loop])
    guard let row else { return nil }
    return Granted(uuid: try row.value("uuid"), loop: try row.value("loop"), counter: try row.value("counter"))
  }

  /// Stores the fences of a session; those of a session that has the same ones already are not stored twice.
  /// - Throws: ``ServedRequest/Refusal`` if no session waits for them.
  func receive(_ fences: [ReceivedFence], of uuid: String, from client: String) throws {
    let nowMs = file.nowMs
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let text = String(decoding: try encoder.encode(fences), as: UTF8.self)
    let outcome: Outcome<Void> = try file.write("store a session") { database in
      let row = try Row.fetchOne(
        database, sql: "SELECT receivedMs, fences FROM session WHERE uuid = ? AND client = ?",
        arguments: [uuid, client])
      let unknown = Outcome<Void>.failure(.init("No started test found by id \(uuid)"))
      guard let row else { return unknown }
      let receivedMs: Int64? = try row.optional("receivedMs")
      let known: String? = try row.optional("fences")
      // A repeat after a lost reply is no failure; anything else would replace what was measured.
      if receivedMs != nil { return known == text ? .success(()) : unknown }
      try database.execute(
        sql: "UPDATE session SET receivedMs = ?, fences = ?, count = ? WHERE uuid = ?",
        arguments: [nowMs, text, fences.count, uuid])
      return .success(())
    }
    try outcome.get()
  }

  // MARK: Looking

  /// Returns the received sessions with their fences, the first received first, as a map and an export take them.
  /// - Throws: ``CoverageError`` with code `.storage`.
  public func parts() throws(CoverageError) -> [CoverageExport.Part] {
    try file.read { database in
      let rows = try Row.fetchAll(
        database, sql: "SELECT * FROM session WHERE receivedMs IS NOT NULL ORDER BY receivedMs, id")
      return try rows.map { try CoverageExport.Part(received: $0) }
    }
  }

  /// The number of sessions that were granted, and of those that were received.
  /// - Throws: ``CoverageError`` with code `.storage`.
  public func counts() throws(CoverageError) -> (granted: Int, received: Int) {
    try file.read { database in
      let row = try Row.fetchOne(
        database, sql: "SELECT count(*) AS granted, count(receivedMs) AS received FROM session")
      return (try row?.value("granted") ?? 0, try row?.value("received") ?? 0)
    }
  }
}

extension CoverageExport.Part {
  fileprivate init(received row: Row) throws {
    let uuid: String = try row.value("uuid")
    let text: String = try row.value("fences")
    let fences = try JSONDecoder().decode([ReceivedFence].self, from: Data(text.utf8))
    let stored = fences.enumerated().compactMap { $0.element.stored(number: $0.offset + 1) }
    guard stored.count == fences.count else {
      throw CoverageError(.storage, "session \(uuid) has a fence with no place on the Earth")
    }
    let grantedUs: Int64 = try row.value("grantedMs") * 1000
    let receivedUs: Int64 = try row.value("receivedMs") * 1000
    let anchorUs = fences.first.map { $0.enteredUs.subtractingClamped($0.offsetMs * 1000) }
    self.init(
      session: CoverageSession(
        id: try row.value("id"), uuid: uuid, server: "received", run: try row.value("loop"),
        startedUs: stored.first?.enteredUs ?? grantedUs, anchorUs: anchorUs,
        finalizedUs: stored.last?.exitedUs ?? receivedUs, fences: stored.count, sending: .init()),
      fences: stored)
  }
}
