import DBusTesting
import Foundation
import SystemTesting

/// A UPower in a process of its own, which answers in time however busy the tests' process is: `Peers/upower.py`.
struct UPowerProcess {
  /// The interpreter of the virtual environment that `scripts/python-peers` makes.
  private static let python = root.appending(path: ".venv-peers/bin/python3").path
  /// Whether that environment is there; tests that need it skip by name when it is not.
  static let isInstalled = ChildProcess.path(of: python) != nil

  private static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private let process: ChildProcess

  /// Starts it on a bus, and waits until it owns its name.
  init(_ bus: PrivateBus, isOnBattery: Bool, percentage: Int) async throws {
    let script = Self.root.appending(path: "Tests/SystemStateTests/Peers/upower.py").path
    process = try ChildProcess(Self.python, [script, bus.address, isOnBattery ? "battery" : "mains", "\(percentage)"])
    _ = try await process.firstLine()
  }

  /// Ends it, so that its name is free.
  func end() { process.kill() }
}
