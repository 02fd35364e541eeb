import ArgumentParser
import AudioIngest

/// `edgeblue segments repair`
struct SegmentsRepairCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair",
    abstract: "Finish what a crash left, and look whether every segment is whole.",
    discussion: """
      A recorder does the first by itself when it begins. Nothing is removed: what cannot be finished stays where it is. \
      Ends with status 70 when something is not whole.
      """)

  @OptionGroup var recordings: RecordingsOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      // Read first: a folder that is not there is not made.
      let path = try SegmentCatalog.open(recordings).path
      let folder = try SegmentFolder(path: path)
      var problems: [AudioIngestError] = []
      for segment in try folder.recover(report: { problems.append($0) }) {
        terminal.happened("what a recorder had left became \(segment.headline)", "recovered", segment.json)
      }
      let catalog = try SegmentCatalog(path: path)
      problems += catalog.problems + catalog.entries.compactMap(\.segment.problem)
      for problem in problems {
        terminal.happened(problem.description.printable, "problem", ["error": .string(problem.message)])
      }
      guard problems.isEmpty else {
        throw Failure("\(problems.count) of the recordings in \(path) are not whole", status: .failed)
      }
      terminal.happened(
        "\(catalog.entries.count) segments are whole", "whole", ["segments": .number(catalog.entries.count)])
      withExtendedLifetime(folder) {}
    }
  }
}
