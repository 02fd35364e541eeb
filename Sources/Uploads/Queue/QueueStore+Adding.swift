internal import FoundationEssentials
internal import GRDB

extension QueueStore {
  /// Adds uploads to the queue, all or none; they are on disk when this returns.
  ///
  /// A request that equals a queued one in server, bucket, key, account and checksum adds nothing and returns the ID of
  /// that item. If that item is done, it is queued again under its ID: the server is asked whether it still has the
  /// object, and nothing is sent if it has.
  /// - Returns: The IDs of the items, in the order of the requests.
  /// - Throws: ``UploadsError`` with code `.invalidArgument`; `.fileMissing`; `.alreadyExists` if another file is queued
  ///   or uploaded under the same key (choose another key, or set ``UploadRequest/isReplacing`` once the first is done);
  ///   `.storage`; `.noSpace`.
  @discardableResult public func add(_ requests: [UploadRequest]) throws(UploadsError) -> [Int64] {
    var prints: [String] = []
    for request in requests {
      try request.check()
      prints.append(try Fingerprint.of(request.content.path))
    }
    return try command("add items") { database in
      let ids = try zip(requests, prints).map { request, print in try self.add(request, print, database) }
      database.afterNextTransaction { _ in self.feed.publish(.itemsChanged) }
      return ids
    }
  }

  private func add(_ request: UploadRequest, _ fingerprint: String, _ database: Database) throws -> Int64 {
    if let id = try insert(request, fingerprint, database) { return id }
    let item = try Self.item(at: request.endpoint, bucket: request.bucket, key: request.key, database)
    if let item, item.request.content.sha256 == request.content.sha256, item.request.account == request.account {
      if item.state == .done { try queueAgain(item.id, request, fingerprint, database) }
      return item.id
    }
    let taken = UploadsError(
      .alreadyExists, "another file is queued or uploaded as \(request.key) in \(request.bucket)",
      hint: "choose another key, or replace the object once the first item is done")
    guard let item, request.isReplacing, [.done, .failed].contains(item.state) else { throw taken }
    try database.execute(sql: "DELETE FROM item WHERE id = ?", arguments: [item.id])
    guard let id = try insert(request, fingerprint, database) else { throw taken }
    return id
  }

  /// Queues an item that is done again: the object may be gone, or its file is another copy.
  private func queueAgain(
    _ id: Int64, _ request: UploadRequest, _ fingerprint: String, _ database: Database
  ) throws {
    try database.execute(
      sql: """
        UPDATE item SET path = ?, sidecar = ?, fingerprint = ?, contentType = ?, metadata = ?, partSums = ?,
          isReplacing = ?, afterwards = ?, manifest = ?, queuedAtMs = ?,
          state = 'waiting', attempts = 0, endedAtMs = NULL, problem = NULL, failure = NULL WHERE id = ?
        """,
      arguments: [
        request.content.path, request.sidecar, fingerprint, request.content.contentType,
        try Self.json(request.content.metadata), try request.content.partSums.map(Self.json), request.isReplacing,
        request.afterwards.rawValue, request.manifest, now, id,
      ])
  }

  /// - Returns: The ID; `nil` if an item with this key exists.
  private func insert(_ request: UploadRequest, _ fingerprint: String, _ database: Database) throws -> Int64? {
    // Preparing the statement takes longer than running it.
    try database.cachedStatement(
      sql: """
        INSERT INTO item (endpoint, bucket, key, account, path, sidecar, fingerprint, size, sha256, contentType, metadata,
          partSums, isReplacing, afterwards, manifest, queuedAtMs)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (endpoint, bucket, key) DO NOTHING
        """
    ).execute(
      arguments: [
        request.endpoint ?? "", request.bucket, request.key, request.account, request.content.path, request.sidecar,
        fingerprint, request.content.size, request.content.sha256, request.content.contentType,
        try Self.json(request.content.metadata), try request.content.partSums.map(Self.json), request.isReplacing,
        request.afterwards.rawValue, request.manifest, now,
      ])
    guard database.changesCount == 1 else { return nil }
    let id = database.lastInsertedRowID
    try Self.welcome(request, at: request.endpoint, database)
    return id
  }

  /// Notes that an object is not to be queued for a server by a program that looks for unqueued files.
  static func dismiss(_ request: UploadRequest, at endpoint: String?, _ database: Database) throws {
    try database.execute(
      sql: "INSERT OR IGNORE INTO dropped (endpoint, bucket, key) VALUES (?, ?, ?)",
      arguments: [endpoint ?? "", request.bucket, request.key])
  }

  /// Notes that an object may be queued for a server again.
  static func welcome(_ request: UploadRequest, at endpoint: String?, _ database: Database) throws {
    try database.cachedStatement(sql: "DELETE FROM dropped WHERE endpoint = ? AND bucket = ? AND key = ?").execute(
      arguments: [endpoint ?? "", request.bucket, request.key])
  }
}
