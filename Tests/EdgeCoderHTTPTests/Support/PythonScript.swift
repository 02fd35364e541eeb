import Foundation

/// A Python program of `Tests/EdgeCoderHTTPTests/Python`, run with the packages that `scripts/requirements.txt` pins.
final class PythonScript: Sendable {
  private static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let environment = root.appending(path: ".venv-peers")

  /// Whether `scripts/python-peers` has installed `package`; tests that need it skip by name when it has not.
  static func has(_ package: String) -> Bool {
    let libraries = environment.appending(path: "lib").path
    let files = FileManager.default
    guard files.fileExists(atPath: libraries), let versions = files.enumerator(atPath: libraries) else { return false }
    for case let version as String in versions {
      versions.skipDescendants()
      if files.fileExists(atPath: "\(libraries)/\(version)/site-packages/\(package)") { return true }
    }
    return false
  }

  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  /// Starts the program.
  init(_ name: String, _ arguments: String...) throws {
    process.executableURL = Self.environment.appending(path: "bin/python3")
    process.arguments = ["-u", Self.root.appending(path: "Tests/EdgeCoderHTTPTests/Python/\(name)").path] + arguments
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
  }

  deinit { kill() }

  /// Everything it prints up to its end or, with `line`, its first line.
  func read(line: Bool = false) async throws -> String {
    let handle = output.fileHandleForReading
    return await withCheckedContinuation { continuation in
      // A thread of its own: reading blocks.
      Thread.detachNewThread {
        var data = Data()
        while !(line && data.last == UInt8(ascii: "\n")) {
          let more = line ? handle.readData(ofLength: 1) : handle.availableData
          if more.isEmpty { break }
          data.append(more)
        }
        continuation.resume(returning: String(decoding: data, as: UTF8.self))
      }
    }
  }

  /// Ends the program at once.
  func kill() {
    if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
  }
}
