/// A source of the credentials of an account.
///
/// ```swift
/// struct VaultCredentials: CredentialsProvider {
///   let name = "the vault"
///   func credentials() async throws -> S3Credentials {
///     guard let secret = try? String(contentsOfFile: "/run/vault/secret", encoding: .utf8) else {
///       throw UploadsError(.noCredentials, "the vault is locked")
///     }
///     return S3Credentials(accessKey: "KEY", secretKey: secret)
///   }
/// }
/// ```
public protocol CredentialsProvider: Sendable {
  /// The name of the source for display, such as a path or URL, without secrets.
  var name: String { get }

  /// Returns the current credentials of the account.
  ///
  /// The queue calls it at the start, before credentials expire, when a server refuses them, and every 30 s while there
  /// are no accepted ones.
  /// - Throws: ``UploadsError`` with code `.noCredentials`, or the error of the access to the source;
  ///   `CancellationError`.
  func credentials() async throws -> S3Credentials
}

/// A provider of credentials that never change.
///
/// ```swift
/// let provider = StaticCredentials(S3Credentials(accessKey: "KEY", secretKey: "SECRET"))
/// let accounts: [String: any CredentialsProvider] = ["ada": provider]
/// ```
public struct StaticCredentials: CredentialsProvider {
  private let value: S3Credentials

  /// Creates a provider of the given credentials.
  public init(_ credentials: S3Credentials) { value = credentials }

  /// The name of the source for display.
  public var name: String { "fixed credentials" }

  /// Returns the credentials that the provider was created with.
  public func credentials() async throws -> S3Credentials { value }
}

/// A provider of credentials from environment variables, with the names that AWS's tools use.
///
/// ```swift
/// let provider = EnvironmentCredentials(["AWS_ACCESS_KEY_ID": "KEY", "AWS_SECRET_ACCESS_KEY": "SECRET"])
/// if provider.isSet { print(try await provider.credentials()) }
/// ```
public struct EnvironmentCredentials: CredentialsProvider {
  private let environment: [String: String]

  /// Creates a provider that reads the given variables.
  public init(_ environment: [String: String]) { self.environment = environment }

  /// The name of the source for display.
  public var name: String { "the environment (AWS_ACCESS_KEY_ID)" }

  /// A Boolean value that indicates whether `AWS_ACCESS_KEY_ID` is set and not empty.
  public var isSet: Bool { !(environment["AWS_ACCESS_KEY_ID"] ?? "").isEmpty }

  /// Returns the credentials in `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
  /// - Throws: ``UploadsError`` with code `.noCredentials` if the first or second is missing or empty.
  public func credentials() async throws -> S3Credentials {
    guard let key = environment["AWS_ACCESS_KEY_ID"], let secret = environment["AWS_SECRET_ACCESS_KEY"], !key.isEmpty,
      !secret.isEmpty
    else {
      throw UploadsError(
        .noCredentials, "the environment contains no credentials",
        hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    }
    let token = environment["AWS_SESSION_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
    return S3Credentials(accessKey: key, secretKey: secret, sessionToken: token)
  }
}
