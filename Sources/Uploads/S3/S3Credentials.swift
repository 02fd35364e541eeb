/// What a request to S3 is signed with. It describes itself without its secrets.
public struct S3Credentials: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  /// Who signs; no secret.
  public var accessKey: String
  /// What is signed with.
  public var secretKey: String
  /// Goes with temporary credentials.
  public var sessionToken: String?
  /// When they end, in Unix milliseconds; `nil` when they do not, or nobody said.
  public var expiresAtMs: Int64?
  /// What they are good for, where their source says so.
  public var scope: S3Scope?

  /// Makes credentials.
  public init(
    accessKey: String, secretKey: String, sessionToken: String? = nil, expiresAtMs: Int64? = nil,
    scope: S3Scope? = nil
  ) {
    self.accessKey = accessKey
    self.secretKey = secretKey
    self.sessionToken = sessionToken
    self.expiresAtMs = expiresAtMs
    self.scope = scope
  }

  /// The access key, and nothing else: secrets reach no log.
  public var description: String { "S3Credentials(\(accessKey))" }

  /// The same for what looks into values.
  public var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
}

/// What credentials are good for, as far as their source says so.
public struct S3Scope: Sendable, Hashable {
  /// The bucket; `nil` for any.
  public var bucket: String?
  /// What keys begin with; empty for all.
  public var prefix: String
  /// Where the bucket is; `nil` where the endpoint is.
  public var region: String?

  /// Describes what credentials are good for.
  public init(bucket: String? = nil, prefix: String = "", region: String? = nil) {
    (self.bucket, self.prefix, self.region) = (bucket, prefix, region)
  }

  /// The key of an object that would be called so, below the prefix.
  public func key(_ name: String) -> String { name.utf8.starts(with: prefix.utf8) ? name : prefix + name }

  /// The region of a bucket, where this says it.
  func region(of bucket: String) -> String? { self.bucket ?? bucket == bucket ? region : nil }

  /// Refuses an object that they are not good for.
  /// - Throws: ``UploadsError`` with code `.forbidden`.
  func check(bucket: String, key: String) throws(UploadsError) {
    guard self.bucket ?? bucket == bucket, key.utf8.starts(with: prefix.utf8) else {
      throw UploadsError(
        .forbidden,
        "the credentials are for \(self.bucket ?? bucket)/\(prefix)…, as their source says, and not for \(bucket)/\(key)",
        hint: "drop the item and queue it where the source says, or change what it says")
    }
  }
}
