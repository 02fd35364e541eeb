import ArgumentParser

/// `edgeblue loop`
struct LoopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "loop",
    abstract: "Repeat speed tests by time and distance.",
    discussion: """
      A loop repeats a speed test: the next one is due after a number of minutes, or as soon as the machine has moved far \
      enough, whichever comes first. Both count from the start of the previous test. It is stored, and survives restarts \
      and reboots: `edgeblue loop start` continues it.

      EXAMPLES
        edgeblue loop start --server 192.0.2.1 --tests 20 --minutes 30
        edgeblue loop start --server 192.0.2.1 --gpsd 127.0.0.1 --metres 500
        edgeblue loop start                   continue the loop
        edgeblue loop status --watch          minutes and metres left
        edgeblue loop history --csv > loop.csv
        edgeblue loop plot loop.svg
        edgeblue loop stop
      """,
    subcommands: [
      LoopStartCommand.self, LoopStatusCommand.self, LoopStopCommand.self, LoopHistoryCommand.self,
      LoopPlotCommand.self,
    ], defaultSubcommand: LoopStatusCommand.self)
}
