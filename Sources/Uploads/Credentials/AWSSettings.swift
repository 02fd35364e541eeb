internal import DurableFiles

/// The settings of AWS's tools: their environment variables, and a profile of their file `config`.
package struct AWSSettings: Sendable {
  /// The profile to use: the named one, else `AWS_PROFILE`, `AWS_DEFAULT_PROFILE` or `default`.
  package let profile: String
  private let environment: [String: String]
  /// The settings of the profile; those below another one have its name in front: `s3.addressing_style`.
  private let values: [String: String]
  /// The settings of the section `services` that the profile names.
  private let services: [String: String]

  /// Reads the settings.
  /// - Parameters:
  ///   - environment: The environment variables of the process.
  ///   - profile: The profile that the user names; `nil` to take it from the environment.
  /// - Throws: ``UploadsError`` with code `.storage` if the file exists and cannot be read.
  package init(environment: [String: String], profile: String? = nil) throws(UploadsError) {
    let set = environment.filter { !$0.value.isEmpty }
    let profile = profile ?? set["AWS_PROFILE"] ?? set["AWS_DEFAULT_PROFILE"] ?? "default"
    self.environment = set
    self.profile = profile
    let text = try Self.path(in: set).map { path throws(UploadsError) in try Self.text(of: path) } ?? ""
    let values = Self.profile(profile, of: text)
    self.values = values
    services = values["services"].map { AWSFile.section(["services \($0)"], of: text) } ?? [:]
  }

  /// Returns the path of the file: the value of `AWS_CONFIG_FILE`, else `~/.aws/config`.
  static func path(in environment: [String: String]) -> String? {
    func set(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    return set("AWS_CONFIG_FILE") ?? set("HOME").map { $0 + "/.aws/config" }
  }

  /// Returns the settings of a profile; in this file all but the default one are called `profile NAME`.
  static func profile(_ name: String, of text: String) -> [String: String] {
    AWSFile.section(name == "default" ? ["default", "profile default"] : ["profile \(name)"], of: text)
  }

  private static func text(of path: String) throws(UploadsError) -> String {
    do throws(FileError) {
      guard let bytes = try Disk().read(path, limit: FileCredentials.fileLimit, followsLinks: true) else { return "" }
      if bytes.count <= FileCredentials.fileLimit { return String(decoding: bytes, as: UTF8.self) }
    } catch { throw UploadsError(error) }
    throw UploadsError(.storage, "\(path) has more than \(FileCredentials.fileLimit) bytes: not a file of settings")
  }

  /// The URL of the server: `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, or `endpoint_url` for S3 or for all services.
  package var endpointURL: String? {
    let isIgnored = environment["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] ?? values["ignore_configured_endpoint_urls"]
    guard isIgnored?.lowercased() != "true" else { return nil }
    return environment["AWS_ENDPOINT_URL_S3"] ?? environment["AWS_ENDPOINT_URL"] ?? services["s3.endpoint_url"]
      ?? values["endpoint_url"]
  }

  /// The region: `AWS_REGION`, `AWS_DEFAULT_REGION` or `region`.
  package var region: String? {
    environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"] ?? values["region"]
  }

  /// The path of a PEM file with certificates to trust: `AWS_CA_BUNDLE` or `ca_bundle`.
  package var certificates: String? { environment["AWS_CA_BUNDLE"] ?? values["ca_bundle"] }

  /// The position of the bucket in URLs: `addressing_style` for S3; `nil` if it is left to the program.
  package var addressing: S3Endpoint.Addressing? {
    switch services["s3.addressing_style"] ?? values["s3.addressing_style"] {
    case "path": .path
    case "virtual": .virtualHost
    default: nil
    }
  }

  /// Returns the source of the credentials of the profile.
  /// - Parameters:
  ///   - file: The file that the user names; `nil` for those of AWS's tools.
  ///   - isProfileNamed: `true` if the user names the profile to this program: then its files precede variables.
  package func credentials(in file: String?, isProfileNamed: Bool) -> any CredentialsProvider {
    if let file { return FileCredentials(path: file, profile: profile) }
    guard let path = sharedFile(isProfileNamed: isProfileNamed) else { return EnvironmentCredentials(environment) }
    return FileCredentials(path: path, profile: profile, configuration: Self.path(in: environment))
  }

  /// Returns the path of the file of AWS's tools that the credentials come from; `nil` if variables precede it.
  /// - Parameter isProfileNamed: `true` if the user names the profile to this program.
  package func sharedFile(isProfileNamed: Bool) -> String? {
    guard isProfileNamed || !EnvironmentCredentials(environment).isSet else { return nil }
    return FileCredentials.defaultPath(environment: environment)
  }
}

/// A file of AWS's tools: sections of settings, and settings below others.
enum AWSFile {
  /// Returns the settings of a section.
  /// - Parameters:
  ///   - names: The names that the section may have; `default` includes the lines before the first section.
  ///   - text: The contents of the file.
  static func section(_ names: [String], of text: String) -> [String: String] {
    var values: [String: String] = [:]
    var section = "default"
    var parent: String?
    for line in text.split(whereSeparator: \.isNewline) {
      let isIndented = line.first?.isWhitespace == true
      let line = trimmed(line)
      if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
      if line.hasPrefix("["), let end = line.firstIndex(of: "]") {
        section = name(line[line.index(after: line.startIndex)..<end])
        parent = nil
      } else if names.contains(section), let equals = line.firstIndex(of: "=") {
        let name = trimmed(line[..<equals]).lowercased()
        let value = trimmed(line[line.index(after: equals)...])
        if !isIndented { parent = value.isEmpty ? name : nil }
        values[isIndented ? parent.map { "\($0).\(name)" } ?? name : name] = value
      }
    }
    return values
  }

  /// Returns the name of a section, which may have several blanks and quotation marks: `[profile "two words"]`.
  private static func name(_ text: some StringProtocol) -> String {
    let words = trimmed(text).split(maxSplits: 1) { $0.isWhitespace }
    return words.map { trimmed($0).filter { $0 != "\"" && $0 != "'" } }.joined(separator: " ")
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    guard let first = text.firstIndex(where: { !$0.isWhitespace }),
      let last = text.lastIndex(where: { !$0.isWhitespace })
    else { return "" }
    return String(text[first...last])
  }
}
