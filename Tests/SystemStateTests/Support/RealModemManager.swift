import DBusTesting
import Foundation
import SystemTesting

/// The ModemManager of this machine on a bus of its own, with a modem whose port is a socket: `Peers/modemmanager.py`.
final class RealModemManager: Sendable {
  private static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let python = root.appending(path: ".venv-peers/bin/python3").path
  private static let program = ChildProcess.path(of: "ModemManager")
  /// The folder of its plugins, beside it.
  private static let plugins = program.flatMap { program -> String? in
    let libraries = URL(filePath: program).deletingLastPathComponent().deletingLastPathComponent().path + "/lib"
    let folders = (try? FileManager.default.contentsOfDirectory(atPath: libraries)) ?? []
    return (folders.map { "\(libraries)/\($0)/ModemManager" } + ["\(libraries)/ModemManager"])
      .first { FileManager.default.fileExists(atPath: $0 + "/libmm-plugin-generic.so") }
  }

  /// A Boolean value that indicates whether it can be started here.
  static let isInstalled = plugins != nil && ChildProcess.path(of: python) != nil

  private let process: ChildProcess

  /// Starts it, and waits until it is on the bus and has enabled its modem.
  init(_ bus: PrivateBus, hasModem: Bool = true) async throws {
    let script = Self.root.appending(path: "Tests/SystemStateTests/Peers/modemmanager.py").path
    let words = [script, bus.address, Self.program ?? "", Self.plugins ?? ""] + (hasModem ? [] : ["none"])
    process = try ChildProcess(Self.python, words, hasInput: true, errors: .discarded)
    _ = try await process.firstLine()
  }

  /// Changes the registration of the modem: state and technology as in the reply to `+CREG?`, and the operator's code.
  func register(_ state: Int, _ technology: Int, _ code: String) {
    let line = Array("\(state) \(technology) \(code)\n".utf8)
    _ = process.input.withNumber { write($0, line, line.count) }
  }

  /// Closes the input of the script, which ends ModemManager and itself.
  func end() async {
    process.input.close()
    _ = await process.outcome()
  }
}
