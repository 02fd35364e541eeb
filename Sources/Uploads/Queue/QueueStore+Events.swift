internal import GRDB

/// An event of an item, an account or the whole queue, with its reason.
///
/// ```swift
/// func printFailures(of store: QueueStore) throws {
///   for event in try store.events(limit: 20) where event.kind == .failed {
///     print(event.object ?? "", event.reason ?? "", "\(event.times) times")
///   }
/// }
/// ```
public struct UploadEvent: Sendable, Hashable, Identifiable {
  /// The kind of an event; raw values are stable.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// An attempt failed; the item is retried.
    case failed
    /// An item failed for good, until a user retries it.
    case gaveUp
    /// An item is uploaded, and its local files are settled.
    case done
    /// A user has retried an item.
    case retried
    /// A user has paused an item or the whole queue.
    case paused = "held"
    /// A user has resumed an item or the whole queue.
    case resumed
    /// A user has dropped an item.
    case dropped
    /// A user has moved an item to another server.
    case moved
    /// The server no longer has the parts of an item that a user has dropped or moved; its reason names the object.
    case partsRemoved
    /// The server has an item, and its local files cannot be removed or released yet.
    case unsettled
    /// A server was found not to keep the condition that no object is replaced.
    case conditionIgnored
    /// A file could not be queued; the reason names it.
    case notQueued
    /// An account has no credentials, or the server refuses them.
    case credentialsMissing
    /// An account has accepted credentials again.
    case credentialsFound
    /// An event of an earlier version; its reason has the text.
    case earlier
  }

  /// The ID of the event; later events have higher IDs.
  public var id: Int64
  /// The time of the event, in Unix milliseconds; of a repeated event, the first time.
  public var atMs: Int64
  /// The time of the last repetition, in Unix milliseconds.
  public var lastAtMs: Int64
  /// The number of times the event happened in a row, 1 or more.
  public var times: Int
  /// The ID of the item; `nil` for an event of an account or the whole queue.
  public var item: Int64?
  /// The bucket and key of the item, joined by a slash.
  public var object: String?
  /// The account; `nil` for an event of an item or the whole queue.
  public var account: String?
  /// The kind of the event.
  public var kind: Kind
  /// The kind of failure, for failed attempts.
  public var failure: FailureKind?
  /// The reason for display, at most 1,000 characters.
  public var reason: String?
}

extension QueueStore {
  /// The number of events that are kept: 1,000; repetitions in a row count as one.
  public static let eventLimit = 1000
  /// The length of a reason in characters; the rest is cut off.
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

  /// Returns the last events, the newest last.
  /// - Parameters:
  ///   - item: The ID of the item whose events are returned; `nil` for all events.
  ///   - limit: The largest number of events to return.
  /// - Throws: ``UploadsError`` with code `.storage`.
  public func events(item: Int64? = nil, limit: Int = eventLimit) throws(UploadsError) -> [UploadEvent] {
    try read { database in
      try Row.fetchAll(
        database, sql: "SELECT * FROM event WHERE ?1 IS NULL OR item = ?1 ORDER BY lastAtMs DESC, id DESC LIMIT ?2",
        arguments: [item, Int64(clamping: max(limit, 0))]
      ).reversed().map { try UploadEvent(row: $0) }
    }
  }

  /// Records a change of an account's credentials.
  func record(account: String, _ kind: UploadEvent.Kind, _ reason: String?) throws(UploadsError) {
    try write("record an event", isDurable: false) { database in
      try self.record(kind, account: account, reason: reason, database)
    }
  }

  /// Records that a file could not be queued.
  /// - Parameter reason: The name of the file, and why.
  /// - Throws: ``UploadsError`` with code `.storage` or `.noSpace`.
  public func record(notQueued reason: String) throws(UploadsError) {
    try write("record an event", isDurable: false) { database in
      try self.record(.notQueued, reason: reason, database)
    }
  }

  /// Returns the reasons why accounts wait for credentials, by account.
  package func missingCredentials() throws(UploadsError) -> [String: String] {
    try read { database in
      let rows = try Row.fetchAll(
        database,
        sql: """
          SELECT account, kind, reason FROM event
            WHERE id IN (SELECT MAX(id) FROM event WHERE account IS NOT NULL GROUP BY account) AND kind = ?
          """, arguments: [UploadEvent.Kind.credentialsMissing.rawValue])
      var reasons: [String: String] = [:]
      for row in rows { reasons[row["account"]] = row["reason"] as String? ?? "it has none" }
      return reasons
    }
  }

  /// Records an event within a transaction, and publishes it with the commit. A repetition of an item's last event is
  /// counted.
  func record(
    _ kind: UploadEvent.Kind, item: Int64? = nil, account: String? = nil, failure: FailureKind? = nil,
    reason: String? = nil, _ database: Database
  ) throws {
    let reason = reason.map { String($0.prefix(Self.reasonLimit)) }
    let last = try Row.fetchOne(
      database,
      sql: "SELECT id, kind, account, reason FROM event WHERE item IS ? ORDER BY id DESC LIMIT 1", arguments: [item])
    if let last, try last.value("kind") == kind.rawValue, try last.value("account") == account,
      try last.value("reason") == reason
    {
      let id: Int64 = try last.value("id")
      try database.execute(
        sql: "UPDATE event SET lastAtMs = ?, times = times + 1 WHERE id = ?", arguments: [now, id])
      return try publish(id, database)
    }
    try database.execute(
      sql: """
        INSERT INTO event (atMs, lastAtMs, item, object, account, kind, failure, reason)
        VALUES (?1, ?1, ?2, (SELECT bucket || '/' || key FROM item WHERE id = ?2), ?3, ?4, ?5, ?6)
        """, arguments: [now, item, account, kind.rawValue, failure?.rawValue, reason])
    let id = database.lastInsertedRowID
    try database.execute(sql: "DELETE FROM event WHERE id <= ?", arguments: [id - Int64(Self.eventLimit)])
    try publish(id, database)
  }

  private func publish(_ id: Int64, _ database: Database) throws {
    guard feed.hasReaders,
      let row = try Row.fetchOne(database, sql: "SELECT * FROM event WHERE id = ?", arguments: [id])
    else { return }
    let event = try UploadEvent(row: row)
    // Not before the commit: readers may look at the store at once.
    database.afterNextTransaction { _ in self.feed.publish(.event(event)) }
  }
}

extension UploadEvent {
  fileprivate init(row: Row) throws {
    id = try row.value("id")
    let name: String = try row.value("kind")
    guard let kind = Kind(rawValue: name) else {
      throw UploadsError(.storage, "the event \(id) has the unknown kind “\(name)”")
    }
    atMs = try row.value("atMs")
    lastAtMs = try row.value("lastAtMs")
    times = try row.value("times")
    item = try row.value("item")
    object = try row.value("object")
    account = try row.value("account")
    self.kind = kind
    failure = (try row.value("failure") as String?).flatMap(FailureKind.init)
    reason = try row.value("reason")
  }
}
