import DurableFiles
import Foundation

/// The file with the settings of the agent, as `edgeblue agent setup` writes it.
struct SettingsFile {
  let path: String

  /// The file with the registration token: the credential of the installed service, else a file beside the settings.
  private var tokenPath: String {
    path == AgentSettings.usualFile
      ? "/etc/credstore/edgeblue.registration-token"
      : URL(filePath: path).deletingLastPathComponent().appending(path: "registration-token").path
  }

  /// - Throws: ``Failure`` if this user may not write the file.
  func checkIsWritable() throws {
    let folder = URL(filePath: path).standardizedFileURL.deletingLastPathComponent().path
    let isThere = FileManager.default.fileExists(atPath: path)
    guard access(isThere ? path : folder, W_OK) != 0 else { return }
    let reason = String(cString: strerror(errno)).lowercased()
    throw Failure(
      "the settings cannot be written to \(path.printable): \(reason)",
      hint: geteuid() == 0 ? nil : "run it with sudo, or name another file with --config",
      status: errno == EACCES ? .notPermitted : .unavailable)
  }

  /// Writes the answers; settings that no question asked for are kept. Every user may read them: no secret is among them.
  func write(_ answers: SetupAnswers, token: String?) throws {
    var object = try read()
    for name in ["engine", "engine-url", "model", "coordinator", "name", "metered"] {
      object[name] = answers.settings[name]
    }
    if let token {
      let folder = URL(filePath: tokenPath).deletingLastPathComponent().path
      do throws(FileError) {
        if !FileManager.default.fileExists(atPath: folder) { try Disk().createFolder(folder) }
        try WholeFile(path: tokenPath, limit: SecretText.limit).write(Data((token + "\n").utf8))
      } catch {
        throw Failure(error)
      }
      if path != AgentSettings.usualFile { object["registration-token-file"] = tokenPath }
    }
    if answers.isInsecure { object["insecure"] = true }
    var data = try JSONSerialization.data(
      withJSONObject: object, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    data.append(UInt8(ascii: "\n"))
    do throws(FileError) {
      try WholeFile(path: path, limit: 1 << 20).write(data)
    } catch {
      throw Failure(error)
    }
    // The agent has a user of its own.
    guard chmod(path, 0o644) == 0 else {
      throw Failure("the agent may not read \(path.printable): \(String(cString: strerror(errno)))", status: .failed)
    }
  }

  private func read() throws -> [String: Any] {
    guard let data = FileManager.default.contents(atPath: path) else { return [:] }
    guard let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else {
      throw Failure(
        "\(path.printable) is not one JSON object, and is not replaced", hint: "correct or remove it",
        status: .badInput)
    }
    return object
  }
}
