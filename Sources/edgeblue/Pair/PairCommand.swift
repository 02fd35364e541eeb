import ArgumentParser

/// `edgeblue pair`
struct PairCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pair",
    abstract: "Let a device pair with this machine; list or remove bonds.",
    discussion: """
      `edgeblue phone` admits centrals that are bonded with its adapter. Devices can pair only while this command runs: \
      it opens the pairing window, asks at the terminal, and ends when one device has paired or the time is over. The \
      phone need not be restarted. Only bonds made here open it, so run this command as the user who runs the phone, or \
      as root for the installed agent.

      EXAMPLES
        edgeblue pair --for 120s
        edgeblue pair --adapter hci1 --yes      without questions: encrypted, not authenticated
        edgeblue pair with 00:AA:01:00:00:42    on the central: start pairing
        edgeblue pair list
        edgeblue pair adopt 00:AA:01:00:00:42 --as central
        edgeblue pair remove 00:AA:01:00:00:42
      """,
    subcommands: [
      PairOpenCommand.self, PairWithCommand.self, PairListCommand.self, PairAdoptCommand.self,
      PairRemoveCommand.self,
    ],
    defaultSubcommand: PairOpenCommand.self)
}
