import Foundation
import Testing

/// The command as it was built beside the tests.
enum Command {
  static let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../.build/debug/edgeblue").standardized.path
  static let isBuilt = FileManager.default.isExecutableFile(atPath: path)
  static let needed: Comment = "needs the command: swift build --product edgeblue"

  /// Runs it in a terminal, at which the test sits.
  static func terminal(_ arguments: String) throws -> Subprocess {
    try Subprocess("/usr/bin/script", ["-qec", "TERM=xterm \(path) \(arguments)", "/dev/null"], hasKeyboard: true)
  }
}
