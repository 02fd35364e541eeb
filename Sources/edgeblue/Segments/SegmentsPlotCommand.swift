import ArgumentParser
import AudioIngest

/// `edgeblue segments plot`
struct SegmentsPlotCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plot", abstract: "Draw a segment: its waveform, speech and gaps.")

  @Argument(help: "The SVG file to write.") var file: String
  @Argument(help: "The number or file name of the segment. Default: the newest.") var segment: String?
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
