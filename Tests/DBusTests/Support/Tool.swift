import DBusTesting
import Foundation

/// Programs nobody here wrote, which check our side of the bus from outside.
enum Tool {
  /// How a program ended.
  struct Result {
    var status: Int32
    var output: String
    var error: String
  }

  /// Whether a program is there; tests that need it skip by name when it is not.
  static func isInstalled(_ program: String) -> Bool { ChildProcess.path(of: program) != nil }

  /// Runs a program to its end, for 20 seconds at most, without blocking a thread of the test's executor.
  static func run(_ program: String, _ arguments: [String], environment: [String: String] = [:]) async throws -> Result
  {
    guard let bounded = ChildProcess.path(of: "timeout") else { throw MissingProgram("timeout") }
    guard let path = ChildProcess.path(of: program) else { throw MissingProgram(program) }
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
