import DBusTesting
import Foundation
import SystemTesting

/// A peer written with Python's dbus-fast, which shares no code with libdbus: `Peers/peer.py`.
struct PythonPeer {
  static let name = "org.edgeblue.PythonPeer"
  static let interface = "org.edgeblue.Peer1"

  /// The interpreter of the virtual environment that `scripts/python-peers` makes.
  static let python = root.appending(path: ".venv-peers/bin/python3").path
  /// Whether that environment is there; tests that need it skip by name when it is not.
  static let isInstalled = Tool.isInstalled(python)

  private static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private let process: ChildProcess

  /// Starts the peer and waits until it owns its name.
  init(_ bus: PrivateBus) async throws {
    let script = Self.root.appending(path: "Tests/DBusTests/Peers/peer.py").path
    process = try ChildProcess(Self.python, ["-u", script, bus.address])
    _ = try await process.firstLine()
  }
}
