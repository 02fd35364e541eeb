internal import GRDB

/// Something that happened to an item, an account or the whole queue, and why.
public struct UploadEvent: Sendable, Hashable, Identifiable {
  /// What it was.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// An attempt has failed; the item is tried again.
    case failed
    /// An item has failed for good.
    case gaveUp
    /// An item is uploaded, and all is done.
    case done
    /// A person wants an item tried again.
    case retried
    /// A person holds an item, or the whole queue.
    case held
    /// A person lets an item go on, or the whole queue.
    case resumed
    /// A person has dropped an item.
    case dropped
    /// An account has no credentials, or none that are taken.
    case credentialsMissing
    /// An account has credentials again.
    case credentialsFound
    /// What an earlier version has noted; the reason says what it was.
    case earlier
  }

  /// Its number: later ones are higher.
  public var id: Int64
  /// When it happened, in Unix milliseconds; the first time, where it has happened several times in a row.
  public var atMs: Int64
  /// When it happened last.
  public var lastAtMs: Int64
  /// How often in a row, 1 or more.
  public var times: Int
  /// To which item; `nil` when it is about an account, or about all.
  public var item: Int64?
  /// The bucket and the key of the item.
  public var object: String?
  /// To which account; `nil` when it is about an item, or about all.
  public var account: String?
  /// What it was.
  public var kind: Kind
  /// The kind of failure it was.
  public var failure: FailureKind?
  /// Why, in words.
  public var reason: String?
}

extension QueueStore {
  /// How many events are remembered: 1,000. What happens to an item several times in a row is one.
  public static let eventLimit = 1000
  /// A longer reason is cut, in characters.
  private static let reasonLimit = 1000

  static let eventTable = """
    ALTER TABLE event RENAME TO earlierEvent;
    CREATE TABLE event (
      id INTEGER PRIMARY KEY AUTOINCREMENT, atMs INTEGER NOT NULL, lastAtMs INTEGER NOT NULL,
      times INTEGER NOT NULL DEFAULT 1, item INTEGER, object TEXT, account TEXT,
      kind TEXT NOT NULL, failure TEXT, reason TEXT
    );
    INSERT INTO event (id, atMs, lastAtMs, item, kind, reason)
      SELECT id, atMs, atMs, item, 'earlier', text FROM earlierEvent;
    DROP TABLE earlierEvent;
    CREATE INDEX eventByItem ON event (item, id);
    """

  /// What happened last, the newest last.
  /// - Parameters:
  ///   - item: what is of interest; `nil` for all.
  ///   - limit: how many at most.
  public func events(item: Int64? = nil, limit: Int = eventLimit) throws(UploadsError) -> [UploadEvent] {
    try read { database in
      try Row.fetchAll(
        database, sql: "SELECT * FROM event WHERE ?1 IS NULL OR item = ?1 ORDER BY lastAtMs DESC, id DESC LIMIT ?2",
        arguments: [item, Int64(clamping: max(limit, 0))]
      ).reversed().map { try UploadEvent(row: $0) }
    }
  }

  /// Notes what became of an account's credentials.
  func note(account: String, _ kind: UploadEvent.Kind, _ reason: String?) throws(UploadsError) {
    try write("noting an event", isLasting: false) { database in
      try self.note(kind, account: account, reason: reason, database)
    }
  }

  /// Notes an event, within a transaction. What has just happened to the same item for the same reason is counted.
  func note(
    _ kind: UploadEvent.Kind, item: Int64? = nil, account: String? = nil, failure: FailureKind? = nil,
    reason: String? = nil, _ database: Database
  ) throws {
    let reason = reason.map { String($0.prefix(Self.reasonLimit)) }
    let last = try Row.fetchOne(
      database,
      sql: "SELECT id, kind, account, reason FROM event WHERE item IS ? ORDER BY id DESC LIMIT 1", arguments: [item])
    if let last, last["kind"] == kind.rawValue, last["account"] == account, last["reason"] == reason {
      try database.execute(
        sql: "UPDATE event SET lastAtMs = ?, times = times + 1 WHERE id = ?", arguments: [now, last["id"] as Int64])
      return
    }
    try database.execute(
      sql: """
        INSERT INTO event (atMs, lastAtMs, item, object, account, kind, failure, reason)
        VALUES (?1, ?1, ?2, (SELECT bucket || '/' || key FROM item WHERE id = ?2), ?3, ?4, ?5, ?6)
        """, arguments: [now, item, account, kind.rawValue, failure?.rawValue, reason])
    try database.execute(
      sql: "DELETE FROM event WHERE id <= ?", arguments: [database.lastInsertedRowID - Int64(Self.eventLimit)])
  }
}

extension UploadEvent {
  fileprivate init(row: Row) throws {
    guard let kind = Kind(rawValue: row["kind"]) else {
      throw UploadsError(.storage, "an event of the queue cannot be understood")
    }
    (id, atMs, lastAtMs, times) = (row["id"], row["atMs"], row["lastAtMs"], row["times"])
    (item, object, account) = (row["item"], row["object"], row["account"])
    self.kind = kind
    failure = (row["failure"] as String?).flatMap(FailureKind.init)
    reason = row["reason"]
  }
}
