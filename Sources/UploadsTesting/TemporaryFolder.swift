internal import DeterministicTesting
internal import Foundation

/// A folder for the files of a test that is removed with the last reference to it.
///
/// ```swift
/// let folder = try TemporaryFolder()
/// let path = try folder.file("talk.wav", 100_000, seed: 1)
/// print(path.hasPrefix(folder.path))  // true
/// ```
public final class TemporaryFolder: Sendable {
  /// The absolute path of the folder.
  public let path: String

  /// Creates a folder in the system's folder for temporary files.
  /// - Throws: An error of the file system.
  public init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "uploads-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    do { try FileManager.default.removeItem(atPath: path) } catch { print("\(path) was not removed: \(error)") }
  }

  /// Writes a file of pseudo-random bytes that depend on the seed alone.
  /// - Parameters:
  ///   - name: The name of the file.
  ///   - count: The length of the file in bytes.
  ///   - seed: The seed of the bytes.
  /// - Returns: The absolute path of the file.
  /// - Throws: An error of the file system.
  public func file(_ name: String, _ count: Int, seed: UInt64) throws -> String {
    var random = SeededGenerator(seed: seed)
    var data = Data(capacity: count + 8)
    while data.count < count { withUnsafeBytes(of: random.next()) { data.append(contentsOf: $0) } }
    try data.prefix(count).write(to: URL(filePath: "\(path)/\(name)"))
    return "\(path)/\(name)"
  }
}
