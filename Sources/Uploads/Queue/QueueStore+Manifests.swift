internal import GRDB

/// A manifest that lacks lines.
struct UnwrittenManifest: Sendable, Hashable {
  /// The URL of the server that the objects are on.
  let endpoint: String
  let bucket: String
  let key: String
  /// The account that it is written for.
  let account: String
}

extension QueueStore {
  /// The number of lines that are added to a manifest at a time.
  static let manifestBatch = 10_000

  /// Adds the line of an uploaded item to its manifest, in the transaction that records the upload.
  func addManifestEntry(of item: UploadItem, _ database: Database) throws {
    guard let manifest = item.request.manifest else { return }
    let line = try Self.json(ManifestEntry(item.request, atMs: now))
    try database.execute(
      sql: "INSERT INTO manifestEntry (endpoint, bucket, manifest, account, line) VALUES (?, ?, ?, ?, ?)",
      arguments: [item.request.endpoint ?? "", item.request.bucket, manifest, item.request.account, line])
  }

  /// Returns the manifests that lack lines, the one that has waited longest first.
  /// - Parameter endpoint: The URL of the server; `nil` for the manifests of all servers.
  func unwrittenManifests(at endpoint: String? = nil) throws(UploadsError) -> [UnwrittenManifest] {
    try read { database in
      try Row.fetchAll(
        database,
        sql: """
          SELECT endpoint, bucket, manifest, account FROM manifestEntry WHERE ?1 IS NULL OR endpoint = ?1
          GROUP BY 1, 2, 3, 4 ORDER BY MIN(id)
          """, arguments: [endpoint]
      ).map {
        try UnwrittenManifest(
          endpoint: $0.value("endpoint"), bucket: $0.value("bucket"), key: $0.value("manifest"),
          account: $0.value("account"))
      }
    }
  }

  /// Returns the lines that a manifest lacks, the oldest first.
  func lines(of manifest: UnwrittenManifest) throws(UploadsError) -> [(id: Int64, text: String)] {
    try read { database in
      try Row.fetchAll(
        database,
        sql: """
          SELECT id, line FROM manifestEntry WHERE endpoint = ? AND bucket = ? AND manifest = ? AND account = ?
          ORDER BY id LIMIT ?
          """,
        arguments: [manifest.endpoint, manifest.bucket, manifest.key, manifest.account, Self.manifestBatch]
      ).map { (try $0.value("id"), try $0.value("line")) }
    }
  }

  /// Removes the lines that the server has.
  func forgetLines(of manifest: UnwrittenManifest, through id: Int64) throws(UploadsError) {
    try write("record a manifest", isDurable: false) { database in
      try database.execute(
        sql: """
          DELETE FROM manifestEntry WHERE endpoint = ? AND bucket = ? AND manifest = ? AND account = ? AND id <= ?
          """,
        arguments: [manifest.endpoint, manifest.bucket, manifest.key, manifest.account, id])
    }
  }
}
