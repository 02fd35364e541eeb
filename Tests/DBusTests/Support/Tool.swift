import DBusTesting
import Foundation
import SystemTesting

/// Independent programs that check our side of the bus.
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
    let process = try ChildProcess(
      "timeout", ["-k", "1", "20", program] + arguments,
      environment: ProcessInfo.processInfo.environment.merging(environment) { $1 }, errors: .kept)
    let outcome = await process.outcome()
    return Result(
      status: outcome.status, output: outcome.output.trimmingCharacters(in: .whitespacesAndNewlines),
      error: outcome.errors.trimmingCharacters(in: .whitespacesAndNewlines))
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
