import Foundation
import Glibc

/// Questions to the user, each with a default that an empty line, or the end of the input, takes.
struct Questions: Sendable {
  let terminal: Terminal
  /// A Boolean value that indicates whether the defaults are taken without a question.
  let areSkipped: Bool

  /// Asks until the answer is allowed.
  /// - Parameters:
  ///   - question: The question, without punctuation.
  ///   - usual: The default; shown in brackets unless it is empty.
  ///   - isSecret: Whether the terminal does not show the answer.
  ///   - check: Returns what is wrong with an answer; `nil` if it is allowed.
  /// - Throws: ``Failure`` if the default is not allowed and there is no other answer.
  func ask(
    _ question: String, default usual: String, isSecret: Bool = false, _ check: (String) -> String? = { _ in nil }
  ) async throws -> String {
    while true {
      var answer: String?
      if !areSkipped {
        let text = question + (usual.isEmpty ? ": " : " [\(usual.printable)]: ")
        let echo = isSecret ? Echo() : nil
        answer = await StandardInput.answer { Output.write(text) }
        if echo?.restore() == true { terminal.say() }
        try Task.checkCancellation()
      }
      let chosen = answer.map { $0.trimmingCharacters(in: .whitespaces) }.flatMap { $0.isEmpty ? nil : $0 } ?? usual
      guard let problem = check(chosen) else { return chosen }
      guard answer != nil else { throw Failure(problem, status: .badInput) }
      terminal.say(problem)
    }
  }
}

/// The echo of a terminal, which is off until it is restored.
private struct Echo {
  private var before = termios()

  /// - Returns: `nil` if standard input is no terminal.
  init?() {
    guard tcgetattr(STDIN_FILENO, &before) == 0 else { return nil }
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(STDIN_FILENO, TCSANOW, &silent)
  }

  func restore() -> Bool {
    var before = before
    return tcsetattr(STDIN_FILENO, TCSANOW, &before) == 0
  }
}
