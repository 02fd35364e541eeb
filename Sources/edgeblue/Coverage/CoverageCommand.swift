import ArgumentParser

/// `edgeblue coverage`
struct CoverageCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "coverage",
    abstract: "Measure the coverage of a mobile network along a way.",
    discussion: """
      A run pings a server ten times a second and assigns each ping to the place where it was due. A control server grants \
      the sessions and takes their results. Each place is on disk before anything is sent, and each session is sent once, \
      also after a kill or a lost reply.

      EXAMPLES
        edgeblue coverage run --control https://control.example.org --gpsd 127.0.0.1
        edgeblue coverage                     what waits to be sent
        edgeblue coverage map walk.html
        edgeblue coverage export --format geojson > walk.geojson
        edgeblue coverage send
      """,
    subcommands: [
      CoverageRunCommand.self, CoverageListCommand.self, CoverageShowCommand.self, CoverageSendCommand.self,
      CoverageDropCommand.self, CoverageExportCommand.self, CoverageMapCommand.self,
      CoverageServeCommand.self,
    ], defaultSubcommand: CoverageListCommand.self)
}
