import ArgumentParser
import AudioIngest

/// `edgeblue segments show`
struct SegmentsShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print all fields of a segment, and verify it.")

  @Argument(help: "The number or file name of the segment. Default: the newest.") var segment: String?
  @Flag(help: "List every gap, also if there are more than \(GapSummary.listed).") var all = false
  @OptionGroup var recordings: RecordingsOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let entry = try SegmentCatalog.open(recordings).chosen(segment)
      for line in entry.lines(allGaps: all) { terminal.say(line) }
      let problem = entry.segment.problem
      if terminal.json {
        terminal.print(
          json: .object(
            entry.segment.json.merging(
              ["isDelivered": .bool(entry.isDelivered), "isWhole": .bool(problem == nil)]) { $1 }))
      }
      if let problem { throw problem }
    }
  }
}
