import ArgumentParser
import AudioIngest

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
            "segments": .array(
              catalog.entries.map { entry in
                .object(entry.segment.json.merging(["isDelivered": .bool(entry.isDelivered)]) { $1 })
              }),
            "problems": .array(catalog.problems.map { .string($0.message) }), "open": .number(catalog.openCount),
          ]))
      }
      for line in catalog.lines { terminal.say(line) }
    }
  }
}
