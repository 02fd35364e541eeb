import Foundation

/// A folder of power supplies of a test's own, removed with this object.
final class Folder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "edgeblue-power-\(UUID().uuidString.prefix(8))").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    // A folder left in the temporary directory does no harm.
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Writes the files of a supply, each with the line break the kernel ends it with.
  func write(_ supply: String, _ files: [String: String]) throws {
    let folder = URL(filePath: path).appending(path: supply)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (name, text) in files { try Data("\(text)\n".utf8).write(to: folder.appending(path: name)) }
  }
}
