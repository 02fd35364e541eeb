import Foundation
import SystemTesting
import Testing

@testable import edgeblue

/// The servers of the built command while nobody talks to them.
@Suite(
  "Idle servers",
  .enabled(if: FileManager.default.isExecutableFile(atPath: program), "needs the command: swift build"),
  .timeLimit(.minutes(5)))
struct IdleServerTests {
  /// The most wake-ups in 3 s: libdispatch counts its threads each second, as long as it has had one.
  private static let limit = 5

  @Test("A server wakes for requests only") func aServerWakesForRequestsOnly() async throws {
    let messages = try MessagesCommands(program)
    let process = try messages.collect(["--metrics-port", "0"], errors: .discarded)
    defer { process.kill() }
    _ = try await process.ports(in: "listening", "metrics")
    // A start has its last steps later.
    try await eventually("3 s have at most \(Self.limit) wake-ups") {
      let before = try wakeUps(of: process.pid)
      try await Task.sleep(for: .seconds(3))
      let after = try wakeUps(of: process.pid)
      return after.reduce(0) { $0 + $1.value - before[$1.key, default: 0] } <= Self.limit
    }
    process.signal(SIGTERM)
    #expect(await process.wait() == 0)
    try messages.remove()
  }

  /// Returns the number of times that each thread of a process was switched to after it had waited.
  private func wakeUps(of process: Int32) throws -> [String: Int] {
    let tasks = "/proc/\(process)/task"
    let counts = try FileManager.default.contentsOfDirectory(atPath: tasks).map { task in
      // A thread of a pool may end meanwhile.
      let status = (try? String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8)) ?? ""
      let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
      return (task, line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0)
    }
    return Dictionary(uniqueKeysWithValues: counts)
  }
}

private let program = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../.build/debug/edgeblue").standardized.path
