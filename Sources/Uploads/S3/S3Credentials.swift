/// The credentials that requests to S3 are signed with.
///
/// The description and the mirror of a value contain only the access key, so that no secret reaches a log.
///
/// ```swift
/// let credentials = S3Credentials(accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "SECRET")
/// print(credentials)  // S3Credentials(AKIAIOSFODNN7EXAMPLE)
/// ```
public struct S3Credentials: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  /// The access key, which identifies the signer and is no secret.
  public var accessKey: String
  /// The secret key that signatures are computed with.
  public var secretKey: String
  /// The session token of temporary credentials; `nil` for permanent ones.
  public var sessionToken: String?
  /// The time at which the credentials expire, in Unix milliseconds; `nil` if never or unknown.
  public var expiresAtMs: Int64?
  /// The scope that the provider of the credentials named; `nil` if it named none.
  public var scope: S3Scope?

  /// Creates credentials from their parts.
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

  /// The access key and no secret, for logs.
  public var description: String { "S3Credentials(\(accessKey))" }

  /// A mirror that contains the access key and no secret.
  public var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
}

/// The bucket, prefix and region that credentials are valid for, as their provider names them.
public struct S3Scope: Sendable, Hashable {
  /// The bucket that the credentials are valid for; `nil` for any.
  public var bucket: String?
  /// The prefix of the permitted keys; empty for all keys.
  public var prefix: String
  /// The region of the bucket; `nil` for the region of the endpoint.
  public var region: String?

  /// Creates a scope; by default one without restrictions.
  public init(bucket: String? = nil, prefix: String = "", region: String? = nil) {
    self.bucket = bucket
    self.prefix = prefix
    self.region = region
  }

  /// Returns the key of an object of this name, with the prefix unless the name already has it.
  public func key(_ name: String) -> String { name.utf8.starts(with: prefix.utf8) ? name : prefix + name }

  /// Returns the region of a bucket, if the scope names it.
  func region(of bucket: String) -> String? { self.bucket ?? bucket == bucket ? region : nil }

  /// Refuses an object outside the scope.
  /// - Throws: ``UploadsError`` with code `.forbidden`.
  func check(bucket: String, key: String) throws(UploadsError) {
    guard self.bucket ?? bucket == bucket, key.utf8.starts(with: prefix.utf8) else {
      throw UploadsError(
        .forbidden,
        "the credentials do not permit \(bucket)/\(key); allowed: \(self.bucket ?? bucket)/\(prefix)…",
        hint: "drop the item and add it under an allowed key, or change the scope of the credentials")
    }
  }
}
