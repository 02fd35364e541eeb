import ArgumentParser

/// The one executable: Bluetooth LE roles of EdgeCoder for the command line.
@main
struct EdgeBlueCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "edgeblue",
    abstract: "EdgeCoder over Bluetooth LE, on Linux.",
    discussion: """
      A phone answers prompts with a model it runs; a central finds phones and offers them to every program on this \
      machine. Either role runs here, over BlueZ.

      EXAMPLES
        edgeblue doctor                      what is missing, and what helps
        edgeblue phone --engine ollama       this machine answers prompts
        edgeblue pair                        let a central pair with the phone
        edgeblue central                     offer the phones around, port 11435
        edgeblue ask "Why is the sky blue?"  one prompt, one answer
        edgeblue scan                        which phones are near
        edgeblue inspect 00:AA:01:00:00:42   what a device offers
        edgeblue path --watch                whether there is a network, and what changes
        edgeblue power --watch               what this machine runs on, and what changes
        edgeblue agent --engine ollama       offer compute in the mode that was chosen
        edgeblue mode local                  choose it: off, on or local; `edgeblue status` shows what came of it
        edgeblue record --out recordings     what a wearable hears becomes WAV files; `edgeblue segments` looks at them
        edgeblue lifecycle background        let the agent's background tasks run; `edgeblue tasks` shows them
        edgeblue upload *.wav --bucket B     files to an object store, until they are there; `edgeblue uploads` shows

      EXIT STATUS
        \(ExitStatus.help)
      """,
    version: EdgeBlueVersion.current,
    subcommands: [
      PhoneCommand.self, PairCommand.self, CentralCommand.self, AskCommand.self, ScanCommand.self, InspectCommand.self,
      PathCommand.self, PowerCommand.self, AgentCommand.self, ModeCommand.self, StatusCommand.self, EventsCommand.self,
      LifecycleCommand.self, TasksCommand.self, RecordCommand.self, SegmentsCommand.self, UploadCommand.self,
      UploadsCommand.self, DoctorCommand.self,
    ])
}
