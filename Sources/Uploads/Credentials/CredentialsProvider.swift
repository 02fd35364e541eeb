/// Where the credentials of an account come from.
public protocol CredentialsProvider: Sendable {
  /// What the source is called, for a person: a file's name, an address; no secret.
  var name: String { get }

  /// The credentials as they are now. It is asked at the beginning, before they expire, when a server refuses them, and
  /// from time to time while there are none that are taken.
  /// - Throws: ``UploadsError`` with code `.noCredentials`, or of the way to them; `CancellationError`.
  func credentials() async throws -> S3Credentials
}

/// Credentials that never change.
public struct StaticCredentials: CredentialsProvider {
  private let value: S3Credentials

  /// Makes a source of these.
  public init(_ credentials: S3Credentials) { value = credentials }

  /// What the source is called.
  public var name: String { "what was given" }

  /// These.
  public func credentials() async throws -> S3Credentials { value }
}

/// Credentials from the environment, by the names that AWS's tools know.
public struct EnvironmentCredentials: CredentialsProvider {
  private let environment: [String: String]

  /// Makes a source of these variables.
  public init(_ environment: [String: String]) { self.environment = environment }

  /// What the source is called.
  public var name: String { "the environment (AWS_ACCESS_KEY_ID)" }

  /// Whether the environment has any.
  public var isSet: Bool { !(environment["AWS_ACCESS_KEY_ID"] ?? "").isEmpty }

  /// What `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN` say.
  public func credentials() async throws -> S3Credentials {
    guard let key = environment["AWS_ACCESS_KEY_ID"], let secret = environment["AWS_SECRET_ACCESS_KEY"], !key.isEmpty,
      !secret.isEmpty
    else {
      throw UploadsError(
        .noCredentials, "the environment has no credentials", hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    }
    let token = environment["AWS_SESSION_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
    return S3Credentials(accessKey: key, secretKey: secret, sessionToken: token)
  }
}
