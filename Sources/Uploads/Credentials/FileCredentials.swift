internal import DurableFiles
internal import FoundationEssentials
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

  /// The largest file that is read, in bytes.
  static let fileLimit = 1 << 20

  /// Creates a provider that reads a file.
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - profile: The section of the file; `default` includes the lines before the first section.
  public init(path: String, profile: String = "default") {
    self.path = path
    self.profile = profile
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
    let values = Self.section(profile, of: String(decoding: try bytes(), as: UTF8.self))
    guard let key = values["aws_access_key_id"], let secret = values["aws_secret_access_key"], !key.isEmpty,
      !secret.isEmpty
    else {
      throw UploadsError(.noCredentials, "\(path) contains no credentials of the profile \(profile)")
    }
    let token = values["aws_session_token"].flatMap { $0.isEmpty ? nil : $0 }
    return S3Credentials(accessKey: key, secretKey: secret, sessionToken: token)
  }

  private func bytes() throws(UploadsError) -> [UInt8] {
    do throws(FileError) {
      guard let bytes = try Disk().read(path, limit: Self.fileLimit) else {
        throw FileError("opening \(path)", errno: ENOENT)
      }
      if bytes.count <= Self.fileLimit { return bytes }
    } catch {
      throw UploadsError(.noCredentials, "\(error)", errno: error.errno)
    }
    throw UploadsError(.noCredentials, "\(path) has more than \(Self.fileLimit) bytes: not a credentials file")
  }

  /// Returns the settings of a section.
  static func section(_ wanted: String, of text: String) -> [String: String] {
    var values: [String: String] = [:]
    var section = "default"
    for line in text.split(whereSeparator: \.isNewline) {
      let line = line.trimmingCharacters(in: .whitespaces)
      if line.hasPrefix("#") || line.hasPrefix(";") { continue }
      if line.hasPrefix("["), line.hasSuffix("]") {
        section = line.dropFirst().dropLast().trimmingCharacters(in: .whitespaces)
      } else if section == wanted, let equals = line.firstIndex(of: "=") {
        let name = line[..<equals].trimmingCharacters(in: .whitespaces).lowercased()
        values[name] = line[line.index(after: equals)...].trimmingCharacters(in: .whitespaces)
      }
    }
    return values
  }
}
