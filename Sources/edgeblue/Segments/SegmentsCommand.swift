import ArgumentParser
import AudioIngest
import Foundation

/// `edgeblue segments`
struct SegmentsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "segments",
    abstract: "List, show, plot, export and repair recorded segments.",
    discussion: """
      \(Recordings.help) All subcommands except `repair` work while a recorder runs. A segment is named by its number or \
      its file name; the default is the newest one.

      EXAMPLES
        edgeblue segments list
        edgeblue segments show 42               its time, device and gaps
        edgeblue segments play-info 42          how to play it, and where speech is
        edgeblue segments plot 42 -o wave.svg   draw its waveform and gaps
        edgeblue segments export --from 08:00 --to 12:30 --join -o morning.flac
        edgeblue segments repair                recover after a crash, verify all segments
        edgeblue segments list --json | jq -r '.segments[].path'
      """,
    subcommands: [
      SegmentsListCommand.self, SegmentsShowCommand.self, SegmentsPlayInfoCommand.self, SegmentsPlotCommand.self,
      SegmentsExportCommand.self, SegmentsRepairCommand.self,
    ],
    defaultSubcommand: SegmentsListCommand.self)
}

extension SegmentCatalog {
  static func open(_ options: RecordingsOptions) throws -> SegmentCatalog {
    try SegmentCatalog(path: try Recordings.path(options.folder))
  }

  /// Returns the segment that the user names, or the newest.
  func chosen(_ name: String?) throws -> Entry {
    if let name {
      // Also as a path, which a shell completes.
      let file = URL(filePath: name).lastPathComponent
      let found = entries.first { file == $0.segment.info.name + ".wav" || file == $0.segment.info.name + ".json" }
      return try found ?? entry(name)
    }
    guard let newest = entries.last else {
      throw AudioIngestError(.noSuchSegment, "\(path) contains no segments", hint: "record one: `edgeblue record`")
    }
    return newest
  }
}
