import DBusTesting
import Foundation
import SystemTesting

/// A GeoClue in a process of its own, which another program wrote the messages of: `Peers/geoclue.py`.
struct GeoClueProcess {
  private static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  /// The interpreter of the virtual environment that `scripts/python-peers` makes.
  private static let python = root.appending(path: ".venv-peers/bin/python3").path
  /// Whether that environment is there; tests that need it skip by name when it is not.
  static let isInstalled = ChildProcess.path(of: python) != nil

  /// The answers to `Start`.
  enum Answer: String {
    case granted, refused, mute
  }

  private let process: ChildProcess

  /// Starts it on a bus, and waits until it owns its name.
  init(_ bus: PrivateBus, _ answer: Answer) async throws {
    let script = Self.root.appending(path: "Tests/SystemStateTests/Peers/geoclue.py").path
    process = try ChildProcess(Self.python, [script, bus.address, answer.rawValue], hasInput: true)
    _ = try await process.firstLine()
  }

  /// Answers otherwise from now on.
  func answer(_ answer: Answer) async throws { try await process.write(answer.rawValue + "\n") }

  /// Ends it, so that its name is free.
  func end() { process.kill() }
}
