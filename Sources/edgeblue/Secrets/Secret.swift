import Foundation

/// A secret that a command needs, and the places where it is looked for.
///
/// The first of these counts: the file that an option names; the credential that systemd has loaded for the service
/// (`LoadCredential=`); the variable. A variable is inherited by child processes, and whoever may ask systemd for the
/// settings of a service reads the variables in them.
struct Secret: Sendable, Hashable {
  /// The name of the credential: that of the option without `-file`.
  var name: String
  /// The name of the variable; `nil` if there is none.
  var variable: String?

  init(_ name: String, variable: String? = nil) {
    self.name = name
    self.variable = variable
  }

  static let registrationToken = Secret("registration-token", variable: "AGENT_REGISTRATION_TOKEN")
  static let meshToken = Secret("mesh-token", variable: "MESH_AUTH_TOKEN")
  static let engineKey = Secret("engine-key", variable: "EDGEBLUE_API_KEY")
  /// The token for the service that issues credentials for uploads.
  static let uploadToken = Secret("upload-token")
  /// A credentials file of AWS; its variables are several.
  static let s3 = Secret("s3")
  static let speedTestKeys = Secret("speedtest-keys")

  static let all = [registrationToken, meshToken, engineKey, uploadToken, s3, speedTestKeys]

  /// Returns the path of the file with the secret; `nil` if it is in no file.
  /// - Parameters:
  ///   - option: The file that the user names.
  ///   - environment: The environment variables.
  func file(_ option: String?, _ environment: [String: String]) -> String? {
    if let option { return option }
    guard let folder = environment["CREDENTIALS_DIRECTORY"], !folder.isEmpty else { return nil }
    let path = "\(folder)/\(name)"
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }

  /// Returns the secret; `nil` if it is nowhere.
  /// - Parameters:
  ///   - option: The file that the user names.
  ///   - environment: The environment variables.
  /// - Throws: ``Failure``, which names the place and never the secret, if a file cannot be read, or if the text in it or
  ///   in the variable cannot be part of a header.
  func value(_ option: String?, _ environment: [String: String]) throws -> String? {
    if let path = file(option, environment) { return try SecretText.line(of: path) }
    guard let variable, let text = environment[variable], !text.isEmpty else { return nil }
    return try SecretText.checked(text, in: "the variable \(variable)")
  }
}
