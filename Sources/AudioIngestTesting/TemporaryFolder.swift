internal import Foundation

/// A folder that is removed with the last reference to this object.
package final class TemporaryFolder: Sendable {
  package let path: String

  /// Creates a folder.
  /// - Parameter parent: The folder to create it in; `nil` for that of temporary files.
  package init(in parent: String? = nil) throws {
    let parent = parent ?? NSTemporaryDirectory()
    path = parent + (parent.hasSuffix("/") ? "" : "/") + "edgeblue-audio-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  // A folder that cannot be removed is left to the system.
  deinit { try? FileManager.default.removeItem(atPath: path) }
}
