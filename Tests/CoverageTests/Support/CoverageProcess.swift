import Foundation
import SystemTesting

/// The program `coverage-process`, beside the tests.
enum CoverageProcess {
  /// The end of a process.
  struct Outcome {
    var status: Int32
    var output: String

    var wasKilled: Bool { status == -1 }

    /// The numbers of the lines that begin with a word.
    func numbers(after word: String) -> [Int] {
      output.split(separator: "\n").filter { $0.hasPrefix(word) }.compactMap { Int($0.dropFirst(word.count)) }
    }
  }

  private static let path = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .appending(path: "coverage-process").path

  static let isThere = FileManager.default.isExecutableFile(atPath: path)

  /// Runs the program to its end.
  static func run(_ words: [String], _ kill: SystemCallKill? = nil) async throws -> Outcome {
    var command = [path] + words
    if let kill { command = ["strace"] + kill.arguments + command }
    let (status, output, _) = try await ChildProcess(command[0], Array(command.dropFirst())).outcome()
    return Outcome(status: status, output: output)
  }
}
