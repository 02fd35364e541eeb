internal import DurableFiles
import Glibc

/// A provider of credentials from a file in the format of AWS's tools.
///
/// The file contains `[profile]`, then `aws_access_key_id = …` and so on. It is read each time credentials are fetched. A
/// credential that systemd loads (`LoadCredential=`) is such a file.
///
/// ```swift
/// let path = FileCredentials.defaultPath(environment: ["HOME": "/home/ada"])
/// if let path { print(try await FileCredentials(path: path, profile: "backup").credentials()) }
/// ```
public struct FileCredentials: CredentialsProvider {
  private let path: String
  private let profile: String
  private let configuration: String?

  /// The largest file that is read, in bytes.
  static let fileLimit = 1 << 20

  /// Creates a provider that reads a file.
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - profile: The section of the file; `default` includes the lines before the first section.
  ///   - configuration: The path of the file `config` of AWS's tools, whose profile may have the credentials instead;
  ///     `nil` for none.
  public init(path: String, profile: String = "default", configuration: String? = nil) {
    self.path = path
    self.profile = profile
    self.configuration = configuration
  }

  /// The name of the source for display: the path and the profile.
  public var name: String { "\(path), profile \(profile)" }

  /// Returns the default path of the file.
  ///
  /// That is the credential `s3` that systemd loaded for the service (`LoadCredential=s3:…`), else the value of
  /// `AWS_SHARED_CREDENTIALS_FILE`, else `~/.aws/credentials`.
  /// - Parameter environment: The environment variables of the process.
  /// - Returns: The path; `nil` if none of the variables is set.
  public static func defaultPath(environment: [String: String]) -> String? {
    func set(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    if let folder = set("CREDENTIALS_DIRECTORY"), access(folder + "/s3", F_OK) == 0 { return folder + "/s3" }
    return set("AWS_SHARED_CREDENTIALS_FILE") ?? set("HOME").map { $0 + "/.aws/credentials" }
  }

  /// Reads the file and returns the credentials of the profile.
  /// - Throws: ``UploadsError`` with code `.noCredentials` if the file is missing, too large, or lacks the profile.
  public func credentials() async throws -> S3Credentials {
    let settings = try configuration.flatMap { try Self.text(of: $0) }
    let known = settings.map { AWSSettings.profile(profile, of: $0) } ?? [:]
    let text = try Self.text(of: path)
    let own = text.map { AWSFile.section([profile], of: $0) } ?? [:]
    let values = own["aws_access_key_id"] == nil ? known : own
    guard let key = values["aws_access_key_id"], let secret = values["aws_secret_access_key"], !key.isEmpty,
      !secret.isEmpty
    else {
      throw text == nil
        ? UploadsError(.noCredentials, "there is no file \(path)", errno: ENOENT, hint: Self.unsupported(in: known))
        : UploadsError(
          .noCredentials, "\(path) contains no credentials of the profile \(profile)",
          hint: Self.unsupported(in: own.merging(known) { $1 }))
    }
    let token = values["aws_session_token"].flatMap { $0.isEmpty ? nil : $0 }
    return S3Credentials(accessKey: key, secretKey: secret, sessionToken: token)
  }

  /// Returns advice if a profile gets its credentials in a way that only AWS's tools know.
  private static func unsupported(in profile: [String: String]) -> String? {
    let ways = ["credential_process", "role_arn", "sso_session", "sso_start_url", "web_identity_token_file"]
    return ways.first { profile[$0] != nil }.map {
      "the profile uses \($0), which only AWS's tools know; use a token service, or `aws configure export-credentials`"
    }
  }

  /// Returns the contents of a file; `nil` if it does not exist.
  private static func text(of path: String) throws(UploadsError) -> String? {
    do throws(FileError) {
      guard let bytes = try Disk().read(path, limit: fileLimit, followsLinks: true) else { return nil }
      if bytes.count <= fileLimit { return String(decoding: bytes, as: UTF8.self) }
    } catch {
      throw UploadsError(.noCredentials, "\(error)", errno: error.errno)
    }
    throw UploadsError(.noCredentials, "\(path) has more than \(fileLimit) bytes: not a credentials file")
  }
}
