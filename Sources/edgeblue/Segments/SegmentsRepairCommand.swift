import ArgumentParser
import AudioIngest

/// `edgeblue segments repair`
struct SegmentsRepairCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair",
    abstract: "Recover after a crash, and verify every segment.",
    discussion: """
      A recorder recovers open segments when it starts. Nothing is removed: a file that cannot be recovered stays where \
      it is. The exit status is 70 if a segment is corrupt.
      """)

  @OptionGroup var recordings: RecordingsOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      // Read first, so that a missing folder is not created.
      let path = try SegmentCatalog.open(recordings).path
      let folder = try SegmentFolder(path: path)
      var problems: [AudioIngestError] = []
      for segment in try folder.recover(report: { problems.append($0) }) {
        terminal.happened("recovered \(segment.headline)", "recovered", segment.json)
      }
      let catalog = try SegmentCatalog(path: path)
      problems += catalog.problems + catalog.entries.compactMap(\.segment.problem)
      for problem in problems {
        terminal.happened(problem.description.printable, "problem", ["error": .string(problem.message)])
      }
      guard problems.isEmpty else {
        throw Failure(
          "\(problems.count) of the segments in \(path) \(problems.count == 1 ? "is" : "are") corrupt", status: .failed)
      }
      let count = catalog.entries.count
      terminal.happened(
        "\(count) \(count == 1 ? "segment is" : "segments are") intact", "whole", ["segments": .number(count)])
      withExtendedLifetime(folder) {}
    }
  }
}
