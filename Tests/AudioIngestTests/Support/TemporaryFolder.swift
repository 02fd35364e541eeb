import Foundation

/// A folder that goes with this object.
final class TemporaryFolder: Sendable {
  let path: String

  /// - Parameter parent: without one, where the system keeps what is temporary.
  init(in parent: String? = nil) throws {
    let parent = parent ?? NSTemporaryDirectory()
    path = parent + (parent.hasSuffix("/") ? "" : "/") + "edgeblue-audio-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
