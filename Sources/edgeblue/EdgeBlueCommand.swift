import ArgumentParser

/// The executable `edgeblue`, which composes all libraries into one command.
@main
struct EdgeBlueCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "edgeblue",
    abstract: "EdgeCoder over Bluetooth LE, on Linux.",
    discussion: """
      A phone answers prompts with a model that it runs. A central finds phones and serves them to the programs on \
      this machine. Either role runs here, over BlueZ.

      EXAMPLES
        edgeblue doctor                      check what is missing
        edgeblue phone --engine ollama       answer prompts with a local model
        edgeblue pair                        open the pairing window for a central
        edgeblue central                     serve the phones in range on port 11435
        edgeblue ask "Why is the sky blue?"  send one prompt, print the reply
        edgeblue scan                        list the phones in range
        edgeblue inspect 00:AA:01:00:00:42   print the services of a device
        edgeblue capture lamp.btsnoop        record the Bluetooth traffic to a file
        edgeblue path --watch                print the default route, and each change
        edgeblue power --watch               print mains or battery, and each change
        edgeblue agent --engine ollama       offer compute in the selected mode
        sudo edgeblue agent setup            ask for the settings of the installed agent
        edgeblue mode local                  select the mode: off, on or local
        edgeblue status                      print the state of the agent
        edgeblue record --out recordings     record a wearable into WAV files
        edgeblue segments                    list what was recorded
        edgeblue lifecycle background        let the agent's background tasks run
        edgeblue upload *.wav --bucket B     upload files to an object store (S3)
        edgeblue uploads                     list what waits, and the reason
        edgeblue speedtest --server HOST     measure download, upload and ping
        edgeblue loop start --server HOST    measure again and again, by time and distance
        edgeblue coverage run --control URL  measure a mobile network along a way
        edgeblue version                     print the version, as --version and -V do
        edgeblue messages run                send sealed messages at a constant rate

      EXIT STATUS
        \(ExitStatus.help)
      """,
    version: EdgeBlueVersion.current,
    subcommands: [
      PhoneCommand.self, PairCommand.self, CentralCommand.self, AskCommand.self, ScanCommand.self, InspectCommand.self,
      CaptureCommand.self,
      PathCommand.self, PowerCommand.self, AgentGroup.self, ModeCommand.self, StatusCommand.self, EventsCommand.self,
      LifecycleCommand.self, TasksCommand.self, RecordCommand.self, SegmentsCommand.self, UploadCommand.self,
      UploadsCommand.self, MessagesCommand.self, SpeedTestCommand.self, LoopCommand.self, CoverageCommand.self,
      DoctorCommand.self,
    ])
}
