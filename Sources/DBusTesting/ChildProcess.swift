import Foundation

/// A program that is needed is not there.
public struct MissingProgram: Error, Sendable, CustomStringConvertible {
  /// Its name or path, and what is known beyond its being missing.
  public let program: String

  /// Says what to install.
  public var description: String { "the program \(program) is needed and not there" }

  package init(_ program: String) { self.program = program }
}

/// A process a test started, which ends with the test.
package final class ChildProcess: @unchecked Sendable {
  // Sound: `process` is started in `init` and afterwards only signalled and waited for, which Foundation locks.
  private let process = Process()
  private let output = Pipe()

  /// Starts a program found in `PATH`, or at an absolute path.
  package init(_ program: String, _ arguments: [String]) throws {
    guard let path = Self.path(of: program) else { throw MissingProgram(program) }
    process.executableURL = URL(filePath: path)
    process.arguments = arguments
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
  }

  deinit { kill() }

  /// Waits for the line with which the program says that it is ready.
  package func firstLine() throws -> String {
    var line: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
      line.append(byte)
    }
    guard !line.isEmpty else { throw MissingProgram("\(process.executableURL?.path ?? "") (it ended at once)") }
    return String(decoding: line, as: UTF8.self)
  }

  /// Ends it with SIGKILL and waits until it is gone.
  package func kill() {
    guard process.isRunning else { return }
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Where a program is: in `PATH`, or at an absolute path.
  package static func path(of program: String) -> String? {
    if program.hasPrefix("/") { return FileManager.default.isExecutableFile(atPath: program) ? program : nil }
    let folders = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return folders.split(separator: ":").map { "\($0)/\(program)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}
