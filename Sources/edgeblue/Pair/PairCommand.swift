import ArgumentParser

/// `edgeblue pair`
struct PairCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pair",
    abstract: "Let a device pair with this machine; list those that have, or forget them.",
    discussion: """
      `edgeblue phone` answers centrals that have paired with its adapter. Pairing is possible only while this command \
      runs: it asks at the terminal, and ends when one device has paired or its time is over. The phone need not be \
      restarted.

      EXAMPLES
        edgeblue pair --for 120s
        edgeblue pair --adapter hci1 --yes      ask nobody: encrypted, but not authenticated
        edgeblue pair with 00:AA:01:00:00:42    at the other side: begin
        edgeblue pair list
        edgeblue pair remove 00:AA:01:00:00:42
      """,
    subcommands: [PairOpenCommand.self, PairWithCommand.self, PairListCommand.self, PairRemoveCommand.self],
    defaultSubcommand: PairOpenCommand.self)
}
