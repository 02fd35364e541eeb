internal import FoundationEssentials
internal import GRDB

extension QueueStore {
  /// Items belong to a server; those of an earlier version, and those added without one, to the first that uploads them.
  static let serverTables = """
    CREATE TABLE newItem (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      endpoint TEXT NOT NULL DEFAULT '', bucket TEXT NOT NULL, key TEXT NOT NULL, account TEXT NOT NULL,
      path TEXT NOT NULL, sidecar TEXT, fingerprint TEXT NOT NULL,
      size INTEGER NOT NULL, sha256 TEXT NOT NULL, contentType TEXT NOT NULL, metadata TEXT NOT NULL,
      isReplacing INTEGER NOT NULL, afterwards TEXT NOT NULL,
      state TEXT NOT NULL DEFAULT 'waiting', attempts INTEGER NOT NULL DEFAULT 0,
      queuedAtMs INTEGER NOT NULL, nextAttemptAtMs INTEGER, endedAtMs INTEGER,
      problem TEXT, failure TEXT, uploadID TEXT, parts TEXT NOT NULL DEFAULT '[]', manifest TEXT, partSums TEXT,
      UNIQUE (endpoint, bucket, key)
    );
    INSERT INTO newItem (id, bucket, key, account, path, sidecar, fingerprint, size, sha256, contentType, metadata,
        isReplacing, afterwards, state, attempts, queuedAtMs, nextAttemptAtMs, endedAtMs, problem, failure, uploadID,
        parts, manifest, partSums)
      SELECT id, bucket, key, account, path, sidecar, fingerprint, size, sha256, contentType, metadata,
        isReplacing, afterwards, state, attempts, queuedAtMs, nextAttemptAtMs, endedAtMs, problem, failure, uploadID,
        parts, manifest, partSums FROM item;
    DELETE FROM sqlite_sequence WHERE name = 'newItem';
    INSERT INTO sqlite_sequence (name, seq) SELECT 'newItem', seq FROM sqlite_sequence WHERE name = 'item';
    DROP TABLE item;
    ALTER TABLE newItem RENAME TO item;
    CREATE INDEX itemByState ON item (state, id);
    ALTER TABLE manifestEntry ADD COLUMN endpoint TEXT NOT NULL DEFAULT '';
    CREATE TABLE server (
      endpoint TEXT PRIMARY KEY, region TEXT NOT NULL, addressing TEXT NOT NULL, condition TEXT NOT NULL
    );
    CREATE TABLE abandonedUpload (
      id INTEGER PRIMARY KEY AUTOINCREMENT, endpoint TEXT NOT NULL, bucket TEXT NOT NULL, key TEXT NOT NULL,
      account TEXT NOT NULL, uploadID TEXT NOT NULL
    );
    CREATE TABLE dropped (
      endpoint TEXT NOT NULL, bucket TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (endpoint, bucket, key)
    );
    CREATE TABLE source (
      folder TEXT PRIMARY KEY, endpoint TEXT NOT NULL, bucket TEXT NOT NULL, prefix TEXT NOT NULL, account TEXT NOT NULL
    );
    """

  /// Returns the servers that items were queued for.
  /// - Throws: ``UploadsError`` with code `.storage`.
  public func servers() throws(UploadsError) -> [UploadServer] {
    try read { database in
      try Row.fetchAll(database, sql: "SELECT * FROM server ORDER BY endpoint").map { try UploadServer(row: $0) }
    }
  }

  /// Returns the servers that items which are not uploaded yet belong to.
  /// - Throws: ``UploadsError`` with code `.storage`.
  public func serversInUse() throws(UploadsError) -> [String] {
    try read { database in
      try String.fetchAll(
        database,
        sql: """
          SELECT DISTINCT endpoint FROM item WHERE endpoint <> '' AND state IN ('waiting', 'uploading', 'paused')
          ORDER BY endpoint
          """)
    }
  }

  /// Returns the servers without waiting items where something else is left: lines of manifests, parts of items that users
  /// have dropped, failed items, and folders of recordings, which may have what nobody has queued yet.
  package func otherServersInUse() throws(UploadsError) -> [String] {
    try read { database in
      try String.fetchAll(
        database,
        sql: """
          SELECT endpoint FROM manifestEntry UNION SELECT endpoint FROM abandonedUpload
            UNION SELECT endpoint FROM item WHERE state = 'failed' UNION SELECT endpoint FROM source
            EXCEPT SELECT '' EXCEPT SELECT endpoint FROM item WHERE state IN ('waiting', 'uploading', 'paused')
            ORDER BY endpoint
          """)
    }
  }

  /// Returns whether nothing is left to be done at a server: no item waits, no manifest lacks lines, and no parts of
  /// dropped items are to be removed.
  /// - Throws: ``UploadsError`` with code `.storage`.
  public func isIdle(at endpoint: String) throws(UploadsError) -> Bool {
    let work = try work(at: endpoint)
    return work.accounts.isEmpty && work.abandoned.isEmpty
  }

  /// What is left to be done at a server.
  package struct Work: Sendable {
    /// The number of items that wait or are being uploaded, by account; also of an account whose manifests lack lines.
    package var accounts: [String: Int] = [:]
    /// The accounts of the multipart uploads that are to be aborted, by ID.
    package var abandoned: [Int64: String] = [:]
  }

  /// Returns what is left to be done at a server.
  package func work(at endpoint: String) throws(UploadsError) -> Work {
    try read { database in
      var work = Work()
      for row in try Row.fetchAll(
        database,
        sql: """
          SELECT account, SUM(n) AS n FROM (
            SELECT account, 1 AS n FROM item WHERE endpoint IN ('', ?1) AND state IN ('waiting', 'uploading')
            UNION ALL SELECT account, 0 AS n FROM manifestEntry WHERE endpoint IN ('', ?1)
          ) GROUP BY account
          """, arguments: [endpoint])
      { work.accounts[row["account"]] = row["n"] }
      for row in try Row.fetchAll(
        database, sql: "SELECT id, account FROM abandonedUpload WHERE endpoint IN ('', ?)", arguments: [endpoint])
      { work.abandoned[row["id"]] = row["account"] }
      return work
    }
  }

  /// Records a server, so that a later program reaches it in the same way.
  /// - Throws: ``UploadsError`` with code `.storage` or `.noSpace`.
  public func remember(_ server: UploadServer) throws(UploadsError) {
    try write("record the server \(server.endpoint)", isDurable: false) { database in
      try database.execute(
        sql: """
          INSERT INTO server (endpoint, region, addressing, condition, completion) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (endpoint) DO UPDATE SET region = ?2, addressing = ?3,
              condition = CASE ?4 WHEN 'unknown' THEN condition ELSE ?4 END,
              completion = CASE ?5 WHEN 'unknown' THEN completion ELSE ?5 END
          """,
        arguments: [
          server.endpoint, server.region, server.addressing.rawValue, server.condition.rawValue,
          server.completion.rawValue,
        ])
    }
  }

  /// Moves an item to another server, where it is uploaded in any case; what the first server has stays there.
  /// - Parameters:
  ///   - id: The ID of the item, which must not be delivered.
  ///   - endpoint: The URL, region and addressing of the other server.
  /// - Throws: ``UploadsError`` with code `.noSuchItem`, `.invalidState`, `.alreadyExists` if an item for the same object
  ///   of that server exists, `.storage` or `.noSpace`.
  public func move(_ id: Int64, to endpoint: S3Endpoint) throws(UploadsError) {
    try command("move item \(id)") { database in
      guard let item = try Self.item(id, database) else { throw Self.unknown(id) }
      guard item.state != .delivered else {
        throw UploadsError(.invalidState, "item \(id) is delivered, and its local files are being settled")
      }
      guard item.request.endpoint != endpoint.url else { return }
      let request = item.request
      if try Self.item(at: endpoint.url, bucket: request.bucket, key: request.key, database) != nil {
        throw UploadsError(
          .alreadyExists, "another item for \(request.key) in \(request.bucket) belongs to \(endpoint.url)",
          hint: "drop one of the two")
      }
      try self.abandonParts(of: item, database)
      try database.execute(
        sql: """
          UPDATE item SET endpoint = ?, state = 'waiting', attempts = 0, nextAttemptAtMs = NULL, endedAtMs = NULL,
            problem = NULL, failure = NULL, uploadID = NULL, parts = '[]' WHERE id = ?
          """, arguments: [endpoint.url, id])
      // So that no program that looks for unqueued files queues it for the first server again.
      try Self.dismiss(request, at: request.endpoint, database)
      try Self.welcome(request, at: endpoint.url, database)
      try self.record(.moved, item: id, reason: "to \(endpoint.url)", database)
    }
    try remember(UploadServer(endpoint))
  }

  // MARK: Records of the queue

  /// Records that a server does not keep the condition that no object is replaced, if it does not.
  func recordIgnoredCondition(of server: UploadServer) throws(UploadsError) {
    guard server.remark != nil else { return }
    try write("record an event", isDurable: false) { database in
      try self.record(.conditionIgnored, reason: server.remark, database)
    }
  }

  /// Gives the items without a server to one, before it uploads them.
  func bind(to endpoint: String) throws(UploadsError) {
    let isNeeded = try read { database in
      try Bool.fetchOne(
        database,
        sql: """
          SELECT EXISTS (SELECT 1 FROM item WHERE endpoint = '' AND state <> 'done')
            OR EXISTS (SELECT 1 FROM manifestEntry WHERE endpoint = '')
          """) ?? false
    }
    guard isNeeded else { return }
    try write("give items to \(endpoint)") { database in
      // Done items of an earlier version stay without one: nobody knows who has them.
      let rows = "endpoint = '' AND state <> 'done'"
      try database.execute(sql: "UPDATE OR IGNORE item SET endpoint = ?1 WHERE \(rows)", arguments: [endpoint])
      try database.execute(
        sql: """
          DELETE FROM item WHERE \(rows) AND EXISTS (
            SELECT 1 FROM item AS other WHERE other.endpoint = ?1 AND other.bucket = item.bucket
              AND other.key = item.key AND other.sha256 = item.sha256 AND other.account = item.account)
          """, arguments: [endpoint])
      try database.execute(
        sql: """
          UPDATE item SET state = 'failed', failure = 'final', endedAtMs = ?, problem = ?
          WHERE \(rows) AND state IN ('waiting', 'uploading')
          """, arguments: [now, "another file is queued or uploaded under this key"])
      try database.execute(
        sql: "UPDATE manifestEntry SET endpoint = ? WHERE endpoint = ''", arguments: [endpoint])
    }
  }

  /// A multipart upload of an item that a user has dropped or moved; its parts occupy space on the server.
  struct AbandonedUpload {
    let id: Int64
    let bucket: String
    let key: String
    let account: String
    let uploadID: String
  }

  /// Notes that the parts of an item are of no use any more.
  func abandonParts(of item: UploadItem, _ database: Database) throws {
    guard let uploadID = item.uploadID else { return }
    try abandon(uploadID, of: item.request, at: item.request.endpoint ?? "", database)
  }

  /// Notes that the parts of an item are of no use any more, although the item still belongs to the server.
  func abandonUpload(of item: UploadItem, at endpoint: String) throws(UploadsError) {
    try write("forget the parts of item \(item.id)", isDurable: false) { database in
      if let uploadID = item.uploadID { try self.abandon(uploadID, of: item.request, at: endpoint, database) }
      try database.execute(sql: "UPDATE item SET uploadID = NULL, parts = '[]' WHERE id = ?", arguments: [item.id])
    }
  }

  /// Notes, once, that a multipart upload is of no use any more.
  func abandon(_ uploadID: String, of request: UploadRequest, at endpoint: String, _ database: Database) throws {
    try database.execute(
      sql: """
        INSERT INTO abandonedUpload (endpoint, bucket, key, account, uploadID) SELECT ?1, ?2, ?3, ?4, ?5
          WHERE NOT EXISTS (SELECT 1 FROM abandonedUpload WHERE endpoint = ?1 AND uploadID = ?5)
        """, arguments: [endpoint, request.bucket, request.key, request.account, uploadID])
  }

  /// Returns the multipart uploads that are to be aborted on a server.
  func abandonedUploads(at endpoint: String) throws(UploadsError) -> [AbandonedUpload] {
    try read { database in
      try Row.fetchAll(
        database, sql: "SELECT * FROM abandonedUpload WHERE endpoint IN ('', ?) ORDER BY id", arguments: [endpoint]
      ).map {
        try AbandonedUpload(
          id: $0.value("id"), bucket: $0.value("bucket"), key: $0.value("key"), account: $0.value("account"),
          uploadID: $0.value("uploadID"))
      }
    }
  }

  /// Removes a multipart upload that the server no longer has.
  func forget(_ upload: AbandonedUpload) throws(UploadsError) {
    try write("forget parts", isDurable: false) { database in
      try database.execute(sql: "DELETE FROM abandonedUpload WHERE id = ?", arguments: [upload.id])
      try self.record(.partsRemoved, reason: "\(upload.bucket)/\(upload.key)", database)
    }
  }
}

extension UploadServer {
  init(row: Row) throws {
    endpoint = try row.value("endpoint")
    guard let addressing = S3Endpoint.Addressing(rawValue: try row.value("addressing")),
      let condition = Condition(rawValue: try row.value("condition")),
      let completion = Condition(rawValue: try row.value("completion"))
    else { throw UploadsError(.storage, "the server \(endpoint) is corrupt") }
    region = try row.value("region")
    self.addressing = addressing
    self.condition = condition
    self.completion = completion
  }
}
