import ArgumentParser

/// `edgeblue loop plot`
struct LoopPlotCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plot", abstract: "Draw all tests of the newest loop over time.",
    discussion: PictureArgument.discussion(example: "edgeblue loop plot loop.svg"))

  @OptionGroup var picture: PictureArgument
  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let file = try picture.file()
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
