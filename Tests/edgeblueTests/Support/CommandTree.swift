import Foundation

@testable import edgeblue

/// The description of the command that shell completions and manuals are made of.
struct CommandTree: Decodable {
  struct Argument: Decodable {
    struct Name: Decodable { var name: String }

    var kind: String
    var names: [Name]?
    var valueName: String?
  }

  var commandName: String
  var arguments: [Argument]?
  var subcommands: [CommandTree]?

  /// The whole command.
  static func read() throws -> CommandTree {
    struct Help: Decodable { var command: CommandTree }
    return try JSONDecoder().decode(Help.self, from: Data(EdgeBlueCommand._dumpHelp().utf8)).command
  }

  /// The commands that have no subcommands, by the words after `edgeblue`.
  func leaves(below path: [String] = []) -> [String: CommandTree] {
    let subcommands = (subcommands ?? []).filter { $0.commandName != "help" }
    guard !subcommands.isEmpty else { return [path.joined(separator: " "): self] }
    return subcommands.reduce(into: [:]) { all, command in
      all.merge(command.leaves(below: path + [command.commandName])) { $1 }
    }
  }

  /// Whether the command has an option.
  func has(_ option: String) -> Bool {
    (arguments ?? []).contains { $0.names?.contains { $0.name == option } == true }
  }
}
