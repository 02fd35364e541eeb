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

  static let mayTrace: Bool = {
    guard ChildProcess.path(of: "strace") != nil else { return false }
    do {
      return try ChildProcess("strace", ["-D", "-f", "-o", "/dev/null", "true"], errors: .discarded).wait() == 0
    } catch { return false }
  }()

  /// Runs the program to its end; `point` names the call of the kernel at which it is killed, and its number.
  static func run(_ words: [String], killedAt point: (call: String, number: Int)? = nil) async throws -> Outcome {
    var command = [path] + words
    if let point {
      command =
        [
          "strace", "-D", "-f", "-o", "/dev/null", "-e", "trace=\(point.call)", "-e",
          "inject=\(point.call):signal=KILL:when=\(point.number)",
        ] + command
    }
    let (status, output, _) = try await ChildProcess(command[0], Array(command.dropFirst())).outcome()
    return Outcome(status: status, output: output)
  }
}
