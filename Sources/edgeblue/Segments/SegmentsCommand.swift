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

/// `edgeblue segments list`
struct SegmentsListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List all segments (the default).")

  @OptionGroup var recordings: RecordingsOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let catalog = try SegmentCatalog.open(recordings)
      if terminal.json {
        terminal.print(
          json: .object([
            "segments": .list(
              catalog.entries.map { entry in
                .object(entry.segment.json.merging(["isDelivered": .bool(entry.isDelivered)]) { $1 })
              }),
            "problems": .list(catalog.problems.map { .string($0.message) }), "open": .number(catalog.openCount),
          ]))
      }
      for line in catalog.lines { terminal.say(line) }
    }
  }
}

/// `edgeblue segments show`
struct SegmentsShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show all that is known of a segment, and whether it is whole.")

  @Argument(help: "Its number, or the name of its file. Without it, the newest.") var segment: String?
  @OptionGroup var recordings: RecordingsOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let entry = try SegmentCatalog.open(recordings).chosen(segment)
      for line in entry.lines { terminal.say(line) }
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

/// `edgeblue segments play-info`
struct SegmentsPlayInfoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "play-info", abstract: "Show how to play a segment, where in it somebody speaks, and what follows.")

  @Argument(help: "Its number, or the name of its file. Without it, the newest.") var segment: String?
  @OptionGroup var recordings: RecordingsOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let catalog = try SegmentCatalog.open(recordings)
      let info = PlayInfo(try catalog.chosen(segment).segment, in: catalog)
      if terminal.json { terminal.print(json: .object(info.json)) }
      for line in info.lines { terminal.say(line) }
    }
  }
}

/// `edgeblue segments plot`
struct SegmentsPlotCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plot", abstract: "Draw a segment: how loud it is, where somebody speaks, and what is missing.")

  @Argument(help: "The file to write, an SVG picture.") var file: String
  @Argument(help: "The segment's number, or the name of its file. Without it, the newest.") var segment: String?
  @OptionGroup var recordings: RecordingsOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let segment = try SegmentCatalog.open(recordings).chosen(segment).segment
      let picture = SegmentPicture(segment.info, try segment.samples()).svg
      try SystemFiles.write(picture, to: file)
      if terminal.json { terminal.print(json: .object(["path": .string(file), "id": .number(segment.info.id)])) }
      terminal.say("\(file) shows \(segment.headline)")
    }
  }
}

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
