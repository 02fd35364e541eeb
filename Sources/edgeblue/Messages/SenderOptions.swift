import Agent
import ArgumentParser

/// The options of the commands that work in the folder of a sender.
struct SenderOptions: ParsableArguments {
  @Option(
    help: .stateFolder("The folder of the queue, the vault and the settings.", below: "messages"),
    completion: .directory)
  var state: String?
  @OptionGroup var common: CommonOptions

  /// Runs a command with its folder, which need not exist, in a process that keeps its secrets.
  func run(_ work: (Terminal, MessagesFolder) async throws -> Void) async throws {
    try await common.runWithSecrets { terminal in
      try await work(
        terminal, MessagesFolder(path: try StateFolder.path(named: state, of: "the sender", below: "/messages")))
    }
  }
}
