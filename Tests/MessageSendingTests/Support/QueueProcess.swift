import Foundation
import SystemTesting

@testable import MessageSending

/// The program `message-queue-process`, beside the tests.
enum QueueProcess {
  /// The end of a run: what was printed, and whether it ended by itself.
  struct Outcome {
    var queued: [Int] = []
    var sent: [String] = []
    var others: [String] = []
    var wasKilled = false
  }

  static let path = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .appending(path: "message-queue-process").path

  /// Runs the program to its end.
  static func run(_ queue: String, _ words: [String], _ kill: SystemCallKill? = nil) async throws -> Outcome {
    var command = [path, queue] + words
    if let kill { command = ["strace"] + kill.arguments + command }
    let (status, output, _) = try await ChildProcess(command[0], Array(command.dropFirst())).outcome()
    var outcome = Outcome(wasKilled: status == -1)
    for line in output.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      switch (words[0], words.last) {
      case ("queued", let number?): outcome.queued.append(Int(number) ?? -1)
      case ("sent", let head?): outcome.sent.append(head)
      default: outcome.others.append(String(line))
      }
    }
    return outcome
  }

  /// The message that the program queues under a number.
  static func message(_ number: Int) throws -> SealedMessage { try MessageSendingTests.message("message \(number) ") }

  /// The name that the program gives a message it sends.
  static func name(_ message: SealedMessage) -> String { QueueLayoutTests.hex(message.bytes.prefix(16)) }
}
