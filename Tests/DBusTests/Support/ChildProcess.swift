import Foundation

/// A process a test started, which ends with the test.
final class ChildProcess: @unchecked Sendable {
  // Sound: `process` is started in `init` and afterwards only signalled and waited for, which Foundation locks.
  private let process = Process()
  private let output = Pipe()

  /// Starts a program found in `PATH`, or at an absolute path.
  init(_ program: String, _ arguments: [String]) throws {
    guard let path = Tool.path(of: program) else { throw Tool.Missing(program: program) }
    process.executableURL = URL(filePath: path)
    process.arguments = arguments
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
  }

  deinit { kill() }

  /// Waits for the line with which the program says that it is ready.
  func firstLine() throws -> String {
    var line: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
      line.append(byte)
    }
    guard !line.isEmpty else { throw Tool.Missing(program: "\(process.executableURL?.path ?? "") (it ended at once)") }
    return String(decoding: line, as: UTF8.self)
  }

  /// Ends it with SIGKILL and waits until it is gone.
  func kill() {
    guard process.isRunning else { return }
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}

/// Programs nobody here wrote, which check our side of the bus from outside.
enum Tool {
  /// A program that is needed is not there.
  struct Missing: Error { let program: String }

  /// How a program ended.
  struct Result {
    var status: Int32
    var output: String
    var error: String
  }

  /// Whether a program is there; tests that need it skip by name when it is not.
  static func isInstalled(_ program: String) -> Bool { path(of: program) != nil }

  static func path(of program: String) -> String? {
    if program.hasPrefix("/") { return FileManager.default.isExecutableFile(atPath: program) ? program : nil }
    let folders = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return folders.split(separator: ":").map { "\($0)/\(program)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Runs a program to its end, for 20 seconds at most, without blocking a thread of the test's executor.
  static func run(_ program: String, _ arguments: [String], environment: [String: String] = [:]) async throws -> Result
  {
    guard let bounded = path(of: "timeout") else { throw Missing(program: "timeout") }
    guard let path = path(of: program) else { throw Missing(program: program) }
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        let process = Process()
        let output = Pipe()
        let error = Pipe()
        process.executableURL = URL(filePath: bounded)
        process.arguments = ["-k", "1", "20", path] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = output
        process.standardError = error
        process.standardInput = FileHandle.nullDevice
        do {
          try process.run()
        } catch {
          return continuation.resume(throwing: error)
        }
        // Both pipes hold what these programs print; neither fills up while the other is read.
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let errors = String(decoding: error.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        continuation.resume(
          returning: Result(
            status: process.terminationStatus, output: text.trimmingCharacters(in: .whitespacesAndNewlines),
            error: errors.trimmingCharacters(in: .whitespacesAndNewlines)))
      }
    }
  }
}

extension PrivateBus {
  /// `busctl` on this bus.
  func busctl(_ arguments: String...) async throws -> Tool.Result {
    try await Tool.run("busctl", ["--address=\(address)", "--no-pager", "--"] + arguments)
  }

  /// `gdbus` on this bus, for example `gdbus("introspect", …)`.
  func gdbus(_ command: String, _ arguments: String...) async throws -> Tool.Result {
    try await Tool.run("gdbus", [command, "--address", address] + arguments)
  }
}
