import ArgumentParser
import AudioIngest

/// `edgeblue segments`
struct SegmentsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "segments",
    abstract: "Look at what was recorded.",
    discussion: """
      \(Recordings.help) Looking is possible while a recorder is at work there; `repair` is for when none is. A segment \
      is named by its number or by the name of its file; without a name the newest is meant.

      EXAMPLES
        edgeblue segments list
        edgeblue segments show 42               when, from whom, what is missing
        edgeblue segments play-info 42          how to play it, where speech is
        edgeblue segments plot waveform.svg 42  a picture of it
        edgeblue segments repair                finish what a crash left, look at all
        edgeblue segments list --json | jq -r '.segments[].path'
      """,
    subcommands: [
      SegmentsListCommand.self, SegmentsShowCommand.self, SegmentsPlayInfoCommand.self, SegmentsPlotCommand.self,
      SegmentsRepairCommand.self,
    ],
    defaultSubcommand: SegmentsListCommand.self)
}

extension SegmentCatalog {
  static func open(_ options: RecordingsOptions) throws -> SegmentCatalog {
    try SegmentCatalog(path: try Recordings.path(options.folder))
  }

  /// A segment that a person has named, or the newest.
  func chosen(_ name: String?) throws -> Entry {
    if let name { return try entry(name) }
    guard let newest = entries.last else {
      throw AudioIngestError(.noSuchSegment, "there is no segment in \(path)", hint: "record some: `edgeblue record`")
    }
    return newest
  }
}
