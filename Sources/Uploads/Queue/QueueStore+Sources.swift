internal import GRDB

/// A folder whose finished files a program queues, as recorded for the programs that come after it.
///
/// A program that ends before it has queued all of them leaves the rest to whoever uploads the queue next.
public struct UploadSource: Sendable, Hashable {
  /// The absolute path of the folder.
  public var folder: String
  /// The URL of the server to upload to; `nil` for the server of the queue that uploads first.
  public var endpoint: String?
  /// The bucket to upload to.
  public var bucket: String
  /// The prefix of the keys.
  public var prefix: String
  /// The account whose credentials are used.
  public var account: String

  /// Creates the description of a source.
  public init(folder: String, endpoint: String? = nil, bucket: String, prefix: String = "", account: String) {
    self.folder = folder
    self.endpoint = endpoint
    self.bucket = bucket
    self.prefix = prefix
    self.account = account
  }
}

extension QueueStore {
  /// Returns the folders whose finished files are queued.
  /// - Throws: ``UploadsError`` with code `.storage`.
  public func sources() throws(UploadsError) -> [UploadSource] {
    try read { database in
      try Row.fetchAll(database, sql: "SELECT * FROM source ORDER BY folder").map { row in
        let endpoint: String = try row.value("endpoint")
        return try UploadSource(
          folder: row.value("folder"), endpoint: endpoint.isEmpty ? nil : endpoint, bucket: row.value("bucket"),
          prefix: row.value("prefix"), account: row.value("account"))
      }
    }
  }

  /// Records a folder, in place of an earlier record of the same folder.
  /// - Throws: ``UploadsError`` with code `.storage` or `.noSpace`.
  public func remember(_ source: UploadSource) throws(UploadsError) {
    try write("record the folder \(source.folder)") { database in
      try database.execute(
        sql: "INSERT OR REPLACE INTO source (folder, endpoint, bucket, prefix, account) VALUES (?, ?, ?, ?, ?)",
        arguments: [source.folder, source.endpoint ?? "", source.bucket, source.prefix, source.account])
    }
  }

  /// Returns whether an object of a server is queued or uploaded, or was dropped by a user.
  /// - Throws: ``UploadsError`` with code `.storage`.
  public func knows(at endpoint: String?, bucket: String, key: String) throws(UploadsError) -> Bool {
    try read { database in
      try Bool.fetchOne(
        database,
        sql: """
          SELECT EXISTS (SELECT 1 FROM item WHERE endpoint = ?1 AND bucket = ?2 AND key = ?3)
            OR EXISTS (SELECT 1 FROM dropped WHERE endpoint = ?1 AND bucket = ?2 AND key = ?3)
          """, arguments: [endpoint ?? "", bucket, key]) ?? false
    }
  }

  /// Removes the record of a folder; what is queued stays queued.
  /// - Throws: ``UploadsError`` with code `.storage` or `.noSpace`.
  public func forgetSource(_ folder: String) throws(UploadsError) {
    try write("forget the folder \(folder)") { database in
      try database.execute(sql: "DELETE FROM source WHERE folder = ?", arguments: [folder])
    }
  }
}
