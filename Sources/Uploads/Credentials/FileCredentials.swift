internal import FoundationEssentials
import Glibc

/// Credentials from a file that AWS's tools write too, read anew each time it is asked: `[profile]` and then
/// `aws_access_key_id = …` and so on. A file of systemd's `LoadCredential=` is one of these.
public struct FileCredentials: CredentialsProvider {
  private let path: String
  private let profile: String

  /// A larger file is not one.
  static let fileLimit = 1 << 20

  /// Makes a source of a file.
  /// - Parameters:
  ///   - path: where it is.
  ///   - profile: which of its sections; `default` is also what stands before the first one.
  public init(path: String, profile: String = "default") { (self.path, self.profile) = (path, profile) }

  /// What the source is called.
  public var name: String { "\(path), profile \(profile)" }

  /// Where the file is when nobody says: what systemd loaded for the service as `s3` (`LoadCredential=s3:…`), what
  /// `AWS_SHARED_CREDENTIALS_FILE` names, else `~/.aws/credentials`.
  public static func usualPath(environment: [String: String]) -> String? {
    func set(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    if let folder = set("CREDENTIALS_DIRECTORY"), access(folder + "/s3", F_OK) == 0 { return folder + "/s3" }
    return set("AWS_SHARED_CREDENTIALS_FILE") ?? set("HOME").map { $0 + "/.aws/credentials" }
  }

  /// What the file says now.
  public func credentials() async throws -> S3Credentials {
    var bytes = Data()
    do {
      let length = try FileReading.length(of: path)
      guard length <= Self.fileLimit else { throw UploadsError(.noCredentials, "\(path) is no file of credentials") }
      try FileReading.read(FileSlice(path: path, length: length)) { bytes.append(contentsOf: $0) }
    } catch let error as UploadsError {
      throw UploadsError(.noCredentials, error.message, errno: error.errno)
    }
    let values = Self.section(profile, of: String(decoding: bytes, as: UTF8.self))
    guard let key = values["aws_access_key_id"], let secret = values["aws_secret_access_key"], !key.isEmpty,
      !secret.isEmpty
    else {
      throw UploadsError(.noCredentials, "\(path) has no credentials of the profile \(profile)")
    }
    let token = values["aws_session_token"].flatMap { $0.isEmpty ? nil : $0 }
    return S3Credentials(accessKey: key, secretKey: secret, sessionToken: token)
  }

  /// The settings of a section.
  static func section(_ wanted: String, of text: String) -> [String: String] {
    var (values, section): ([String: String], String) = ([:], "default")
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
