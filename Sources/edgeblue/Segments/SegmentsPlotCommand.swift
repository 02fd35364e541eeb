import ArgumentParser
import AudioIngest

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
