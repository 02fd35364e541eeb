import EdgeCoderTesting
import Foundation
import SystemTesting

/// A Python program of `Tests/EdgeCoderHTTPTests/Python`, run with the packages that `scripts/requirements.txt` pins.
final class PythonScript: Sendable {
  private static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  /// Whether `scripts/python-peers` has installed `package`; tests that need it skip by name when it has not.
  static func has(_ package: String, in environment: String = ".venv-peers") -> Bool {
    let libraries = root.appending(path: environment).appending(path: "lib").path
    let files = FileManager.default
    guard files.fileExists(atPath: libraries), let versions = files.enumerator(atPath: libraries) else { return false }
    for case let version as String in versions {
      versions.skipDescendants()
      if files.fileExists(atPath: "\(libraries)/\(version)/site-packages/\(package)") { return true }
    }
    return false
  }

  private let process: ChildProcess

  /// Starts the program.
  /// - Parameters:
  ///   - environment: The environment that `scripts/python-peers` has made.
  ///   - folder: The folder that it writes to.
  init(
    _ name: String, in environment: String = ".venv-peers", writing folder: String? = nil, _ arguments: String...
  ) throws {
    let script = Self.root.appending(path: "Tests/EdgeCoderHTTPTests/Python/\(name)").path
    let command = UnprivilegedCommand(
      Self.root.appending(path: "\(environment)/bin/python3").path, ["-u", script] + arguments,
      writing: folder.map { [$0] } ?? [])
    process = try ChildProcess(command.program, command.arguments, hasInput: true, errors: .discarded)
  }

  /// Everything it prints up to its end or, with `line`, its first line.
  func read(line: Bool = false) async throws -> String {
    let process = process
    return try await withCheckedThrowingContinuation { continuation in
      // A thread of its own: reading blocks.
      Thread.detachNewThread {
        continuation.resume(with: Result { line ? try process.firstLine() : readToEnd(process.output) })
      }
    }
  }

  /// Ends the program at once.
  func kill() { process.kill() }
}
