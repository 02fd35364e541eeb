import ArgumentParser
import AudioIngest

/// `edgeblue segments play-info`
struct SegmentsPlayInfoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "play-info",
    abstract: "Print how to play a segment, where speech and gaps are, and which segment follows.")

  @Argument(help: "The number or file name of the segment. Default: the newest.") var segment: String?
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
