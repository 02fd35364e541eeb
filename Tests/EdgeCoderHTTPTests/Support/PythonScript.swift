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

  /// The end of a program with another status than 0.
  struct Failure: Error, CustomStringConvertible {
    let name: String
    let status: Int32
    let errors: String

    var description: String { "\(name) has ended with status \(status): \(errors)" }
  }

  private let name: String
  private let process: ChildProcess

  /// Starts the program.
  /// - Parameters:
  ///   - environment: The environment that `scripts/python-peers` has made.
  ///   - folder: The folder that it writes to.
  ///   - errors: What happens to its error output; nobody reads that of a program that is killed.
  init(
    _ name: String, in environment: String = ".venv-peers", writing folder: String? = nil,
    errors: ChildProcess.Print = .kept, _ arguments: String...
  ) throws {
    self.name = name
    let script = Self.root.appending(path: "Tests/EdgeCoderHTTPTests/Python/\(name)").path
    let command = UnprivilegedCommand(
      Self.root.appending(path: "\(environment)/bin/python3").path, ["-u", script] + arguments,
      writing: folder.map { [$0] } ?? [])
    process = try ChildProcess(command.program, command.arguments, hasInput: true, errors: errors)
  }

  /// Waits until the program has ended.
  /// - Returns: Everything it has printed.
  /// - Throws: ``Failure``.
  func read() async throws -> String {
    let outcome = await process.outcome()
    guard outcome.status == 0 else { throw Failure(name: name, status: outcome.status, errors: outcome.errors) }
    return outcome.output
  }

  /// Waits for the first line the program prints.
  func firstLine() async throws -> String { try await process.firstLine() }

  /// Ends the program at once.
  func kill() { process.kill() }
}
