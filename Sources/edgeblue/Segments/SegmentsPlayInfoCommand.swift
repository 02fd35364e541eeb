import ArgumentParser
import AudioIngest

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
