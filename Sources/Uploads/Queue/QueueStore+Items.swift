internal import FoundationEssentials
internal import GRDB

extension QueueStore {
  /// Counts over all items.
  public struct Totals: Sendable, Hashable {
    /// How many items are in each state, and their bytes.
    public var items: [UploadItem.State: Int] = [:]
    /// The bytes of the items in each state.
    public var bytes: [UploadItem.State: Int64] = [:]
    /// When the oldest that is not uploaded was queued, in Unix milliseconds.
    public var oldestQueuedAtMs: Int64?

    /// None.
    public init() {}
  }

  /// The items in some states, the oldest first.
  public func items(in states: Set<UploadItem.State>, limit: Int = .max) throws(UploadsError) -> [UploadItem] {
    try read { database in
      let names = states.map(\.rawValue)
      let marks = names.map { _ in "?" }.joined(separator: ",")
      return try Row.fetchAll(
        database, sql: "SELECT * FROM item WHERE state IN (\(marks)) ORDER BY id LIMIT ?",
        arguments: StatementArguments(names) + [Int64(clamping: limit)]
      ).map { try UploadItem(row: $0) }
    }
  }

  /// One item; `nil` when there is none of this number.
  public func item(_ id: Int64) throws(UploadsError) -> UploadItem? {
    try read { try Self.item(id, $0) }
  }

  /// The item for an object; `nil` when there is none.
  public func item(bucket: String, key: String) throws(UploadsError) -> UploadItem? {
    try read { database in
      try Row.fetchOne(database, sql: "SELECT * FROM item WHERE bucket = ? AND key = ?", arguments: [bucket, key])
        .map { try UploadItem(row: $0) }
    }
  }

  /// How many items there are.
  public func totals() throws(UploadsError) -> Totals {
    try read { database in
      var totals = Totals()
      for row in try Row.fetchAll(
        database, sql: "SELECT state, COUNT(*) AS n, SUM(size) AS bytes, MIN(queuedAtMs) AS oldest FROM item GROUP BY 1"
      ) {
        guard let state = UploadItem.State(rawValue: row["state"]) else { continue }
        totals.items[state] = row["n"]
        totals.bytes[state] = row["bytes"]
        if [.waiting, .uploading, .paused].contains(state), let oldest = row["oldest"] as Int64? {
          totals.oldestQueuedAtMs = min(totals.oldestQueuedAtMs ?? oldest, oldest)
        }
      }
      return totals
    }
  }

  /// The items that are done or have failed, the oldest first.
  /// - Parameters:
  ///   - first: the lowest number of interest.
  ///   - since: since when, in Unix milliseconds.
  public func ended(from first: Int64 = 0, since: Int64 = 0) throws(UploadsError) -> [UploadItem] {
    try read { database in
      try Row.fetchAll(
        database,
        sql: "SELECT * FROM item WHERE state IN ('done', 'failed') AND id >= ? AND endedAtMs >= ? ORDER BY id",
        arguments: [first, since]
      ).map { try UploadItem(row: $0) }
    }
  }

  /// The buckets that items were queued for, with their accounts.
  func places() throws(UploadsError) -> [(bucket: String, account: String)] {
    try read { database in
      try Row.fetchAll(database, sql: "SELECT DISTINCT bucket, account FROM item").map { ($0["bucket"], $0["account"]) }
    }
  }

  /// What is to be uploaded, in short.
  func openItems() throws(UploadsError) -> [(id: Int64, account: String, attempts: Int)] {
    try read { database in
      try Row.fetchAll(
        database, sql: "SELECT id, account, attempts FROM item WHERE state IN ('waiting', 'uploading') ORDER BY id"
      ).map { ($0["id"], $0["account"], $0["attempts"]) }
    }
  }

  /// Whether all of the queue is held.
  public var isPaused: Bool {
    get throws(UploadsError) {
      try read { try String.fetchOne($0, sql: "SELECT value FROM setting WHERE name = 'paused'") == "1" }
    }
  }

  // MARK: What a person does

  /// Holds all of the queue, or lets it go on.
  public func setPaused(_ isPaused: Bool) throws(UploadsError) {
    try command("pausing") { database in
      try database.execute(
        sql: "INSERT INTO setting (name, value) VALUES ('paused', ?) ON CONFLICT (name) DO UPDATE SET value = ?1",
        arguments: [isPaused ? "1" : "0"])
      try self.note(isPaused ? .held : .resumed, database)
    }
  }

  /// Has an item tried again at once, whatever became of it, unless it is done.
  public func retry(_ id: Int64) throws(UploadsError) {
    try change(id, .retried, to: .waiting, from: [.failed, .waiting, .paused])
  }

  /// Holds an item.
  public func pause(_ id: Int64) throws(UploadsError) {
    try change(id, .held, to: .paused, from: [.waiting, .uploading, .failed])
  }

  /// Lets an item go on that is held.
  public func resume(_ id: Int64) throws(UploadsError) {
    try change(id, .resumed, to: .waiting, from: [.paused])
  }

  /// Forgets an item; its files stay.
  public func drop(_ id: Int64) throws(UploadsError) {
    try command("dropping item \(id)") { database in
      guard try Self.item(id, database) != nil else { throw Self.unknown(id) }
      try self.note(.dropped, item: id, database)
      try database.execute(sql: "DELETE FROM item WHERE id = ?", arguments: [id])
    }
  }

  private func change(
    _ id: Int64, _ kind: UploadEvent.Kind, to state: UploadItem.State, from states: Set<UploadItem.State>
  ) throws(UploadsError) {
    try command("changing item \(id)") { database in
      guard let item = try Self.item(id, database) else { throw Self.unknown(id) }
      guard states.contains(item.state) else {
        throw UploadsError(.notNow, "item \(id) is \(item.state.rawValue)")
      }
      try database.execute(
        sql: "UPDATE item SET state = ?, attempts = 0, nextAttemptAtMs = NULL, endedAtMs = NULL WHERE id = ?",
        arguments: [state.rawValue, id])
      try self.note(kind, item: id, database)
    }
  }

  // MARK: What an upload does

  /// Notes that an item is being uploaded.
  /// - Returns: the item; `nil` when a person has held or dropped it meanwhile.
  func begin(_ id: Int64) throws(UploadsError) -> UploadItem? {
    try write("beginning item \(id)", isLasting: false) { database in
      try database.execute(
        sql: "UPDATE item SET state = 'uploading' WHERE id = ? AND state IN ('waiting', 'uploading')", arguments: [id])
      return database.changesCount == 0 ? nil : try Self.item(id, database)
    }
  }

  /// Notes an upload in parts and the parts that the server has. What a power cut makes it forget is swept up there.
  func note(_ id: Int64, uploadID: String?, parts: [UploadedPart]) throws(UploadsError) {
    try write("noting the parts of item \(id)", isLasting: false) { database in
      try database.execute(
        sql: "UPDATE item SET uploadID = ?, parts = ? WHERE id = ?", arguments: [uploadID, try Self.json(parts), id])
    }
  }

  /// Notes that an upload has failed, and is tried again.
  func postpone(
    _ id: Int64, attempts: Int, afterMs delay: Int64?, _ kind: FailureKind, _ problem: String
  ) throws(UploadsError) {
    try write("postponing item \(id)", isLasting: false) { database in
      try database.execute(
        sql: """
          UPDATE item SET state = 'waiting', attempts = ?, nextAttemptAtMs = ?, failure = ?, problem = ?
          WHERE id = ? AND state = 'uploading'
          """, arguments: [attempts, delay.map { now + $0 }, kind.rawValue, problem, id])
      try self.note(.failed, item: id, failure: kind, reason: problem, database)
    }
  }

  /// Notes that an item has failed for good.
  func bury(_ id: Int64, _ problem: String) throws(UploadsError) {
    try write("giving up item \(id)") { database in
      try database.execute(
        sql: """
          UPDATE item SET state = 'failed', attempts = attempts + 1, nextAttemptAtMs = NULL, failure = 'final',
            problem = ?, endedAtMs = ? WHERE id = ? AND state = 'uploading'
          """, arguments: [problem, now, id])
      try self.note(.gaveUp, item: id, failure: .final, reason: problem, database)
    }
  }

  /// Notes that the server has an item's bytes, for who keeps its manifest too. From now on nothing is sent for it.
  /// - Parameters:
  ///   - id: the item.
  ///   - state: `.delivered`, or `.done` when there is nothing to be done with the local files.
  ///   - isLasting: whether that has to survive a power cut; see ``write(_:isLasting:_:)``.
  func finish(_ id: Int64, as state: UploadItem.State, isLasting: Bool = true) throws(UploadsError) {
    try write("finishing item \(id)", isLasting: isLasting) { database in
      if let item = try Self.item(id, database), ![.delivered, .done].contains(item.state) {
        try self.addManifestEntry(of: item, database)
      }
      try database.execute(
        sql: """
          UPDATE item SET state = ?, nextAttemptAtMs = NULL, failure = NULL, problem = NULL, uploadID = NULL,
            parts = '[]', partSums = NULL, endedAtMs = ? WHERE id = ?
          """, arguments: [state.rawValue, now, id])
      if state == .done {
        try self.note(.done, item: id, database)
        try database.execute(
          sql: """
            DELETE FROM item WHERE state = 'done' AND id < (
              SELECT id FROM item WHERE state = 'done' ORDER BY id DESC LIMIT 1 OFFSET ?)
            """, arguments: [Self.memoryLimit - 1])
      }
    }
  }

  private static func item(_ id: Int64, _ database: Database) throws -> UploadItem? {
    try Row.fetchOne(database, sql: "SELECT * FROM item WHERE id = ?", arguments: [id]).map { try UploadItem(row: $0) }
  }

  private static func unknown(_ id: Int64) -> UploadsError {
    UploadsError(.noSuchItem, "there is no item \(id)", hint: "`edgeblue uploads list --all` shows them")
  }
}

extension UploadItem {
  /// What a row holds.
  /// - Throws: `UploadsError` with code `.storage` when it holds something else.
  init(row: Row) throws {
    let damaged = UploadsError(.storage, "a row of the queue cannot be understood")
    func decoded<Value: Decodable>(_ name: String) throws -> Value {
      guard let text = row[name] as String? else { throw damaged }
      return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
    }
    guard let state = State(rawValue: row["state"]),
      let afterwards = UploadRequest.Afterwards(rawValue: row["afterwards"])
    else { throw damaged }
    id = row["id"]
    request = UploadRequest(
      ObjectContent(
        path: row["path"], size: row["size"], sha256: row["sha256"], contentType: row["contentType"],
        metadata: try decoded("metadata"), partSums: row["partSums"] == nil ? nil : try decoded("partSums")),
      bucket: row["bucket"], key: row["key"], account: row["account"], sidecar: row["sidecar"],
      isReplacing: row["isReplacing"], afterwards: afterwards, manifest: row["manifest"])
    self.state = state
    attempts = row["attempts"]
    queuedAtMs = row["queuedAtMs"]
    nextAttemptAtMs = row["nextAttemptAtMs"]
    endedAtMs = row["endedAtMs"]
    problem = row["problem"]
    failure = (row["failure"] as String?).flatMap(FailureKind.init)
    uploadID = row["uploadID"]
    parts = try decoded("parts")
    fingerprint = row["fingerprint"]
  }
}
