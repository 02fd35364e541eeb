internal import FoundationEssentials
internal import GRDB
internal import Timing

extension QueueStore {
  /// The numbers and bytes of all items, by state.
  public struct Totals: Sendable, Hashable {
    /// The number of items in each state; states without items are absent.
    public var items: [UploadItem.State: Int] = [:]
    /// The bytes of the items in each state.
    public var bytes: [UploadItem.State: Int64] = [:]
    /// The time at which the oldest item that is not uploaded was added, in Unix milliseconds.
    public var oldestQueuedAtMs: Int64?

    /// Creates totals of an empty queue.
    public init() {}
  }

  /// Returns the items in some states, the oldest first.
  /// - Throws: ``UploadsError`` with code `.storage`.
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

  /// Returns the item with an ID; `nil` if there is none.
  /// - Throws: ``UploadsError`` with code `.storage`.
  public func item(_ id: Int64) throws(UploadsError) -> UploadItem? {
    try read { try Self.item(id, $0) }
  }

  /// Returns the item for an object of a server; `nil` if there is none.
  /// - Parameters:
  ///   - endpoint: The URL of the server; `nil` for the items that belong to no server yet.
  ///   - bucket: The bucket of the object.
  ///   - key: The key of the object.
  /// - Throws: ``UploadsError`` with code `.storage`.
  public func item(at endpoint: String?, bucket: String, key: String) throws(UploadsError) -> UploadItem? {
    try read { try Self.item(at: endpoint, bucket: bucket, key: key, $0) }
  }

  /// Returns the numbers and bytes of all items, by state.
  /// - Throws: ``UploadsError`` with code `.storage`.
  public func totals() throws(UploadsError) -> Totals {
    try read { database in
      var totals = Totals()
      for row in try Row.fetchAll(
        database, sql: "SELECT state, COUNT(*) AS n, SUM(size) AS bytes, MIN(queuedAtMs) AS oldest FROM item GROUP BY 1"
      ) {
        guard let state = UploadItem.State(rawValue: try row.value("state")) else { continue }
        totals.items[state] = try row.value("n")
        totals.bytes[state] = try row.value("bytes")
        if [.waiting, .uploading, .paused].contains(state), let oldest: Int64 = try row.value("oldest") {
          totals.oldestQueuedAtMs = min(totals.oldestQueuedAtMs ?? oldest, oldest)
        }
      }
      return totals
    }
  }

  /// Returns the items that are done or have failed for good, the oldest first.
  /// - Parameters:
  ///   - first: The lowest ID to return.
  ///   - since: The earliest time of finishing to return, in Unix milliseconds.
  /// - Throws: ``UploadsError`` with code `.storage`.
  public func finishedItems(from first: Int64 = 0, since: Int64 = 0) throws(UploadsError) -> [UploadItem] {
    try read { database in
      try Row.fetchAll(
        database,
        sql: "SELECT * FROM item WHERE state IN ('done', 'failed') AND id >= ? AND endedAtMs >= ? ORDER BY id",
        arguments: [first, since]
      ).map { try UploadItem(row: $0) }
    }
  }

  /// Returns the buckets of a server that items were added for, with their accounts.
  func buckets(at endpoint: String) throws(UploadsError) -> [(bucket: String, account: String)] {
    try read { database in
      try Row.fetchAll(
        database, sql: "SELECT DISTINCT bucket, account FROM item WHERE endpoint = ?", arguments: [endpoint]
      ).map { (try $0.value("bucket"), try $0.value("account")) }
    }
  }

  /// The columns of an item that is to be uploaded which the queue's machine needs.
  struct ActiveItem {
    let id: Int64
    let account: String
    let failures: Int
  }

  /// Returns the items that are to be uploaded to a server, or belong to none yet, the oldest first.
  func activeItems(at endpoint: String) throws(UploadsError) -> [ActiveItem] {
    try read { database in
      try Row.fetchAll(
        database,
        sql: """
          SELECT id, account, attempts FROM item WHERE state IN ('waiting', 'uploading') AND endpoint IN ('', ?)
          ORDER BY id
          """, arguments: [endpoint]
      ).map { row in
        try ActiveItem(id: row.value("id"), account: row.value("account"), failures: row.value("attempts"))
      }
    }
  }

  /// A Boolean value that indicates whether a user has paused the whole queue.
  /// - Throws: ``UploadsError`` with code `.storage`.
  public var isPaused: Bool {
    get throws(UploadsError) {
      try read { try String.fetchOne($0, sql: "SELECT value FROM setting WHERE name = 'paused'") == "1" }
    }
  }

  // MARK: Commands of users

  /// Pauses or resumes the whole queue; a running queue in any process follows.
  /// - Throws: ``UploadsError`` with code `.storage` or `.noSpace`.
  public func setPaused(_ isPaused: Bool) throws(UploadsError) {
    try command("pause the queue") { database in
      try database.execute(
        sql: "INSERT INTO setting (name, value) VALUES ('paused', ?) ON CONFLICT (name) DO UPDATE SET value = ?1",
        arguments: [isPaused ? "1" : "0"])
      try self.record(isPaused ? .paused : .resumed, database)
    }
  }

  /// Retries an item at once; it must be failed, waiting, paused or done.
  ///
  /// An item that is done is sent again unless the server still has it.
  /// - Throws: ``UploadsError`` with code `.noSuchItem`, `.invalidState`, `.storage` or `.noSpace`.
  public func retry(_ id: Int64) throws(UploadsError) {
    try change(id, .retried, to: .waiting, from: [.failed, .waiting, .paused, .done])
  }

  /// Pauses an item; it must be waiting, uploading or failed.
  ///
  /// An upload in progress is cancelled.
  /// - Throws: ``UploadsError`` with code `.noSuchItem`, `.invalidState`, `.storage` or `.noSpace`.
  public func pause(_ id: Int64) throws(UploadsError) {
    try change(id, .paused, to: .paused, from: [.waiting, .uploading, .failed])
  }

  /// Resumes an item that a user has paused.
  /// - Throws: ``UploadsError`` with code `.noSuchItem`, `.invalidState`, `.storage` or `.noSpace`.
  public func resume(_ id: Int64) throws(UploadsError) {
    try change(id, .resumed, to: .waiting, from: [.paused])
  }

  /// Removes an item from the queue; its local files and its object stay. Parts that the server has are removed by the
  /// next program that uploads the queue.
  /// - Throws: ``UploadsError`` with code `.noSuchItem`, `.storage` or `.noSpace`.
  public func drop(_ id: Int64) throws(UploadsError) {
    try command("drop item \(id)") { database in
      guard let item = try Self.item(id, database) else { throw Self.unknown(id) }
      try self.abandonParts(of: item, database)
      try self.record(.dropped, item: id, database)
      // So that no program that looks for unqueued files queues it again.
      try Self.dismiss(item.request, at: item.request.endpoint, database)
      try database.execute(sql: "DELETE FROM item WHERE id = ?", arguments: [id])
    }
  }

  private func change(
    _ id: Int64, _ kind: UploadEvent.Kind, to state: UploadItem.State, from states: Set<UploadItem.State>
  ) throws(UploadsError) {
    try command("change item \(id)") { database in
      guard let item = try Self.item(id, database) else { throw Self.unknown(id) }
      guard states.contains(item.state) else {
        let allowed = states.map(\.rawValue).sorted().joined(separator: ", ")
        throw UploadsError(.invalidState, "item \(id) is \(item.state.rawValue); allowed: \(allowed)")
      }
      try database.execute(
        sql: "UPDATE item SET state = ?, attempts = 0, nextAttemptAtMs = NULL, endedAtMs = NULL WHERE id = ?",
        arguments: [state.rawValue, id])
      try self.record(kind, item: id, database)
    }
  }

  // MARK: Records of the queue

  /// Records that an item is being uploaded.
  /// - Returns: The item; `nil` if a user has paused or dropped it meanwhile.
  func begin(_ id: Int64) throws(UploadsError) -> UploadItem? {
    try write("begin item \(id)", isDurable: false) { database in
      try database.execute(
        sql: "UPDATE item SET state = 'uploading' WHERE id = ? AND state IN ('waiting', 'uploading')", arguments: [id])
      return database.changesCount == 0 ? nil : try Self.item(id, database)
    }
  }

  /// Records a multipart upload and the parts that a server has. If a power cut undoes it, the parts are swept from the
  /// server.
  /// - Returns: `false` if a user has dropped the item or moved it to another server meanwhile: then the upload is one to
  ///   be aborted.
  func record(
    _ item: UploadItem, at endpoint: String, uploadID: String?, parts: [UploadedPart]
  ) throws(UploadsError) -> Bool {
    try write("record the parts of item \(item.id)", isDurable: false) { database in
      try database.execute(
        sql: "UPDATE item SET uploadID = ?, parts = ? WHERE id = ? AND endpoint IN ('', ?)",
        arguments: [uploadID, try Self.json(parts), item.id, endpoint])
      if database.changesCount > 0 { return true }
      if let uploadID { try self.abandon(uploadID, of: item.request, at: endpoint, database) }
      return false
    }
  }

  /// Records that an attempt has failed and the delay before the retry.
  func postpone(
    _ id: Int64, attempts: Int, after delay: Duration?, _ failure: UploadFailure
  ) throws(UploadsError) {
    try write("postpone item \(id)", isDurable: false) { database in
      try database.execute(
        sql: """
          UPDATE item SET state = 'waiting', attempts = ?, nextAttemptAtMs = ?, failure = ?, problem = ?
          WHERE id = ? AND state = 'uploading'
          """,
        arguments: [
          attempts, delay.map { now + $0.milliseconds(rounded: .towardZero) }, failure.kind.rawValue, failure.reason,
          id,
        ])
      try self.record(.failed, item: id, failure: failure.kind, reason: failure.reason, database)
    }
  }

  /// Records that an item has failed for good.
  func giveUp(_ id: Int64, _ problem: String) throws(UploadsError) {
    try write("give up item \(id)") { database in
      try database.execute(
        sql: """
          UPDATE item SET state = 'failed', attempts = attempts + 1, nextAttemptAtMs = NULL, failure = 'final',
            problem = ?, endedAtMs = ? WHERE id = ? AND state = 'uploading'
          """, arguments: [problem, now, id])
      try self.record(.gaveUp, item: id, failure: .final, reason: problem, database)
    }
  }

  /// Records that the server has an item's bytes, and the line of its manifest. Nothing more is sent for it.
  /// - Parameters:
  ///   - id: The ID of the item.
  ///   - state: `.delivered`, or `.done` if the local files are settled.
  ///   - endpoint: The URL of that server; `nil` for the one that the item belongs to.
  ///   - isDurable: A Boolean value that indicates whether the record must survive a power cut.
  /// - Returns: `false` if a user has dropped the item or moved it to another server meanwhile; nothing is recorded then.
  @discardableResult func finish(
    _ id: Int64, as state: UploadItem.State, at endpoint: String? = nil, isDurable: Bool = true
  ) throws(UploadsError) -> Bool {
    try write("finish item \(id)", isDurable: isDurable) { database in
      guard let item = try Self.item(id, database) else { return false }
      if let endpoint, let own = item.request.endpoint, own != endpoint { return false }
      if ![.delivered, .done].contains(item.state) { try self.addManifestEntry(of: item, database) }
      try database.execute(
        sql: """
          UPDATE item SET state = ?, nextAttemptAtMs = NULL, failure = NULL, problem = NULL, uploadID = NULL,
            parts = '[]', partSums = NULL, endedAtMs = ? WHERE id = ?
          """, arguments: [state.rawValue, now, id])
      if state == .done {
        try self.record(.done, item: id, database)
        try database.execute(
          sql: """
            DELETE FROM item WHERE state = 'done' AND id < (
              SELECT id FROM item WHERE state = 'done' ORDER BY id DESC LIMIT 1 OFFSET ?)
            """, arguments: [Self.doneLimit - 1])
      }
      return true
    }
  }

  /// Records why the local files of a delivered item are not settled.
  func recordUnsettled(_ id: Int64, _ reason: String) throws(UploadsError) {
    try write("record a problem of item \(id)", isDurable: false) { database in
      try database.execute(sql: "UPDATE item SET problem = ? WHERE id = ?", arguments: [reason, id])
      try self.record(.unsettled, item: id, reason: reason, database)
    }
  }

  static func item(at endpoint: String?, bucket: String, key: String, _ database: Database) throws -> UploadItem? {
    try Row.fetchOne(
      database, sql: "SELECT * FROM item WHERE endpoint = ? AND bucket = ? AND key = ?",
      arguments: [endpoint ?? "", bucket, key]
    ).map { try UploadItem(row: $0) }
  }

  static func item(_ id: Int64, _ database: Database) throws -> UploadItem? {
    try Row.fetchOne(database, sql: "SELECT * FROM item WHERE id = ?", arguments: [id]).map { try UploadItem(row: $0) }
  }

  static func unknown(_ id: Int64) -> UploadsError {
    UploadsError(.noSuchItem, "item \(id) is not in the queue")
  }
}

extension UploadItem {
  /// Creates an item from a row.
  /// - Throws: `UploadsError` with code `.storage` if the row is corrupt.
  init(row: Row) throws {
    id = try row.value("id")
    let corrupt = UploadsError(.storage, "item \(id) is corrupt")
    func decoded<Value: Decodable>(_ name: String) throws -> Value {
      guard let text: String = try row.value(name) else { throw corrupt }
      return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
    }
    guard let state = State(rawValue: try row.value("state")),
      let afterwards = UploadRequest.Afterwards(rawValue: try row.value("afterwards"))
    else { throw corrupt }
    let hasSums = try row.value("partSums") as String? != nil
    request = try UploadRequest(
      ObjectContent(
        path: row.value("path"), size: row.value("size"), sha256: row.value("sha256"),
        contentType: row.value("contentType"), metadata: decoded("metadata"),
        partSums: hasSums ? decoded("partSums") : nil),
      bucket: row.value("bucket"), key: row.value("key"), account: row.value("account"),
      isReplacing: row.value("isReplacing"), afterwards: afterwards)
    request.sidecar = try row.value("sidecar")
    request.manifest = try row.value("manifest")
    let endpoint: String = try row.value("endpoint")
    request.endpoint = endpoint.isEmpty ? nil : endpoint
    self.state = state
    attempts = try row.value("attempts")
    queuedAtMs = try row.value("queuedAtMs")
    nextAttemptAtMs = try row.value("nextAttemptAtMs")
    finishedAtMs = try row.value("endedAtMs")
    problem = try row.value("problem")
    failure = (try row.value("failure") as String?).flatMap(FailureKind.init)
    uploadID = try row.value("uploadID")
    parts = try decoded("parts")
    fingerprint = try row.value("fingerprint")
  }
}
