import ArgumentParser
import Foundation
import Glibc

extension EdgeBlueCommand {
  /// Runs the command that the command line names, and ends the process with its exit status.
  static func main() async {
    Output.ignoreBrokenPipes()
    let words = Array(CommandLine.arguments.dropFirst())
    do {
      var command = try await asyncParseAsRoot(["version", "-V"].contains(words.first) ? ["--version"] : words)
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      end(with: error, of: words)
    }
  }

  /// Prints what an error is about, or the help that it asks for, and ends the process.
  private static func end(with error: any Error, of words: [String]) -> Never {
    let status = exitCode(for: error)
    guard status != .success else {
      Output.write(fullMessage(for: error) + "\n")
      guard let failure = Output.failure else { Glibc.exit(0) }
      Terminal(json: false).fail(failure)
      Glibc.exit(failure.status.rawValue)
    }
    let text =
      status == .validationFailure ? suggestion(for: words) ?? fullMessage(for: error) : fullMessage(for: error)
    if !text.isEmpty { Output.write(text + "\n", to: STDERR_FILENO) }
    Glibc.exit(status.rawValue)
  }

  /// Returns the message for a command line with a word in the place of a command that is none; `nil` without one.
  static func suggestion(for words: [String]) -> String? {
    var path = ["edgeblue"]
    var command: any ParsableCommand.Type = self
    for word in words {
      let all = command.configuration.subcommands
      if all.isEmpty || word.hasPrefix("-") { return nil }
      if let next = all.first(where: { $0._commandName == word }) {
        command = next
        path.append(word)
        continue
      }
      let names = all.map { $0._commandName } + ["help"]
      let nearest = names.filter { word.distance(to: $0) <= max(2, $0.count / 3) }
        .min { word.distance(to: $0) < word.distance(to: $1) }
      if word == "help" || (nearest == nil && command.configuration.defaultSubcommand != nil) { return nil }
      let title = path.joined(separator: " ")
      return """
        Error: '\(word.printable)' is no command of '\(title)'.\(nearest.map { " Did you mean '\($0)'?" } ?? "")
        Usage: \(title) <subcommand>
          See '\(title) --help' for more information.
        """
    }
    return nil
  }
}
