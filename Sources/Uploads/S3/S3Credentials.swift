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

  /// Makes credentials.
  public init(accessKey: String, secretKey: String, sessionToken: String? = nil, expiresAtMs: Int64? = nil) {
    self.accessKey = accessKey
    self.secretKey = secretKey
    self.sessionToken = sessionToken
    self.expiresAtMs = expiresAtMs
  }

  /// The access key, and nothing else: secrets reach no log.
  public var description: String { "S3Credentials(\(accessKey))" }

  /// The same for what looks into values.
  public var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
}
