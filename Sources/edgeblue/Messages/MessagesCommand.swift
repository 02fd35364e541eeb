import ArgumentParser

/// `edgeblue messages`
struct MessagesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "messages",
    abstract: "Send sealed messages at a constant rate that does not show when one was written.",
    discussion: """
      `run` sends two messages of one size at random instants, which are 69 minutes apart on average: covers, and among \
      them the messages that `write` has put into the queue. Neither the network nor the files show which are which; the sender itself cannot tell. The \
      passphrase is asked for at the terminal, or read from the file descriptor of --passphrase-fd; it is never an \
      argument or a variable of the environment, which all users of the host can read.

      EXAMPLES
        edgeblue messages keys make keys --recipient desk   keys for one's own collector
        edgeblue messages collect --to collected            accept messages on port 7676
        edgeblue messages setup --server http://127.0.0.1:7676 --keys keys/keys.json --root KEY
        edgeblue messages run                               send, by the schedule
        edgeblue messages relay                             pass on what senders near by bring over Bluetooth
        edgeblue messages write --to desk                   queue a message
        edgeblue messages status --unlock                   what waits and what was sent
        edgeblue messages open collected --keys keys        read what was collected
      """,
    subcommands: [
      MessagesSetupCommand.self, MessagesWriteCommand.self, MessagesStatusCommand.self, MessagesRunCommand.self,
      MessagesRelayCommand.self, MessagesCollectCommand.self, MessagesOpenCommand.self, MessagesKeysCommand.self,
    ],
    defaultSubcommand: MessagesStatusCommand.self)
}
