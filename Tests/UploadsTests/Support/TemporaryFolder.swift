import DeterministicTesting
import Foundation

/// A folder that goes with the last reference.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "uploads-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    do { try FileManager.default.removeItem(atPath: path) } catch { print("\(path) stays: \(error)") }
  }

  /// Makes a file of bytes that depend on the seed only.
  func file(_ name: String, _ count: Int, seed: UInt64) throws -> String {
    var random = SeededGenerator(seed: seed)
    var data = Data(capacity: count + 8)
    while data.count < count { withUnsafeBytes(of: random.next()) { data.append(contentsOf: $0) } }
    try data.prefix(count).write(to: URL(filePath: "\(path)/\(name)"))
    return "\(path)/\(name)"
  }
}
