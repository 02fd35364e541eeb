import ArgumentParser

/// `edgeblue speedtest`
struct SpeedTestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "speedtest",
    abstract: "Measure the throughput and the latency to a server.",
    discussion: """
      Measures the download, the upload and the round-trip time over several connections, with the protocol of the open \
      RMBT servers. `edgeblue speedtest serve` is such a server, for a local network or a rented machine.

      EXAMPLES
        edgeblue speedtest serve --open
        edgeblue speedtest --server 192.0.2.1
        edgeblue speedtest --server speed.example.org:443 --tls --http --key-file speed.key
        edgeblue speedtest --server 192.0.2.1 --json | jq .download.bitsPerSecond
        edgeblue speedtest --control https://control.example.org
        edgeblue speedtest history
        edgeblue speedtest plot 17 test.svg
      """,
    subcommands: [
      SpeedTestRunCommand.self, SpeedTestServeCommand.self, SpeedTestHistoryCommand.self, SpeedTestShowCommand.self,
      SpeedTestPlotCommand.self, SpeedTestSubmitCommand.self,
    ],
    defaultSubcommand: SpeedTestRunCommand.self)

  /// The port of a server unless another one is named.
  static let defaultPort = 5231
}

extension ServerAddress: ExpressibleByArgument {
  init?(argument: String) { self.init(argument, defaultPort: SpeedTestCommand.defaultPort) }
}
