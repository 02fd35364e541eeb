import ArgumentParser
import AudioIngest

/// `edgeblue segments plot`
struct SegmentsPlotCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plot", abstract: "Draw a segment: its waveform, speech and gaps.",
    discussion: """
      The picture is SVG or PNG, by the end of the file's name. A file that exists is replaced only if it is a picture \
      that this command has drawn. PNG needs `rsvg-convert` (package librsvg2-bin).

      EXAMPLES
        edgeblue segments plot                       the newest segment, as NAME.svg in this folder
        edgeblue segments plot 42 -o waveform.png
      """)

  @Argument(help: "The number or file name of the segment. Default: the newest.") var segment: String?
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The picture to write, .svg or .png. Default: the segment's name and .svg, in the present folder.",
      valueName: "file"), completion: .file())
  var output: String?
  @OptionGroup var recordings: RecordingsOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let named = try output.map { try PictureFile($0) }
      let segment = try SegmentCatalog.open(recordings).chosen(segment).segment
      let file = try named ?? PictureFile(segment.info.name + ".svg")
      // First: reading the samples takes longer.
      try file.checkIsReplaceable()
      try await file.write(SegmentPicture(segment.info, try segment.samples()).svg)
      if terminal.json { terminal.print(json: .object(["path": .string(file.path), "id": .number(segment.info.id)])) }
      terminal.say("\(file.path.printable) shows \(segment.headline)")
    }
  }
}
