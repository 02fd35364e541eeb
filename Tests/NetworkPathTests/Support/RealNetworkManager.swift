import DBusTesting
import Foundation
import SystemTesting

/// The NetworkManager of this machine on a bus of its own, in a network namespace of its own, with one connection:
/// `Peers/networkmanager.py`.
final class RealNetworkManager: Sendable {
  private static let program = ChildProcess.path(of: "NetworkManager")
  private static let client = ChildProcess.path(of: "nmcli")
  private static let script = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Peers/networkmanager.py").path

  /// A Boolean value that indicates whether it can be started here.
  static let isInstalled = program != nil && client != nil && Namespace.isPermitted

  private let process: ChildProcess

  /// Starts it, and waits until it is connected. Its connection is metered.
  init(_ bus: PrivateBus) async throws {
    let space = ["--net", "--mount", "--propagation", "private"]
    let words = ["/usr/bin/python3", Self.script, bus.address, Self.program ?? "", Self.client ?? ""]
    process = try ChildProcess("unshare", space + words, hasInput: true, errors: .discarded)
    guard try await process.firstLine() == "ready" else { throw Failure(description: "not connected") }
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// Changes something, in the words of the script; returns when it is so.
  func make(_ order: String) async throws {
    try await process.write(order + "\n")
    guard try await process.firstLine() == "done" else { throw Failure(description: "not done: \(order)") }
  }

  /// Closes the input of the script, which ends NetworkManager and itself.
  func end() async {
    process.input.close()
    _ = await process.outcome()
  }
}
