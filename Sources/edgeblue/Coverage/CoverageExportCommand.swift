import ArgumentParser
import Coverage
import Foundation

/// `edgeblue coverage export`
struct CoverageExportCommand: AsyncParsableCommand {
  /// The formats of other programs.
  enum Format: String, CaseIterable, ExpressibleByArgument {
    case geojson
    case gpx
    case csv
  }

  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Write stored sessions to standard output in a format of other programs.",
    discussion: """
      The circles of GeoJSON are points with a radius in metres. GPX has a track for each session.

      EXAMPLES
        edgeblue coverage export --format gpx --session 3 > walk.gpx
      """)

  @Option(help: "The format: \(Format.allCases.map(\.rawValue).joined(separator: ", ")).") var format = Format.geojson
  @Option(help: ArgumentHelp("The number of a session; without one, all are written.", valueName: "n"))
  var session: Int64?
  @Flag(help: "Use the sessions that `edgeblue coverage serve` has received.") var received = false
  @OptionGroup var state: CoverageFolderOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard !common.json else { throw ValidationError("--format names the format; --json is not for this command.") }
  }

  func run() async throws {
    try await common.run { _ in
      let parts = try state.folder().parts(session, isReceived: received)
      let data =
        switch format {
        case .geojson: CoverageExport.geoJSON(parts) + Data("\n".utf8)
        case .gpx: CoverageExport.gpx(parts)
        case .csv: CoverageExport.csv(parts)
        }
      Output.write(String(decoding: data, as: UTF8.self))
    }
  }
}
