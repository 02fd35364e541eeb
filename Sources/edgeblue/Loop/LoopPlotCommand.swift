import ArgumentParser

/// `edgeblue loop plot`
struct LoopPlotCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plot", abstract: "Draw all tests of the newest loop over time.",
    discussion: """
      The picture is SVG or PNG, by the end of the file's name. A file that exists is replaced only if it is a picture of \
      speed tests that this program has drawn. PNG needs `rsvg-convert` (package librsvg2-bin).

      EXAMPLES
        edgeblue loop plot loop.svg
      """)

  @Argument(help: "The picture to write, .svg or .png.") var output: String
  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let file = try PictureFile(output, of: .speedTest)
      try file.checkIsReplaceable()
      guard let contents = try state.folder().loop.load() else {
        throw Failure("there is no loop", hint: "`edgeblue loop start` starts one", status: .unavailable)
      }
      try await file.write(LoopPicture(contents.state, server: contents.settings.test.server).svg)
      let count = contents.state.history.count
      if terminal.json { terminal.print(json: ["path": .string(file.path), "attempts": .number(count)]) }
      terminal.say("\(file.path.printable) shows \(count == 1 ? "one attempt" : "\(count) attempts")")
    }
  }
}
