import ArgumentParser

/// `edgeblue loop plot`
struct LoopPlotCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plot", abstract: "Draw all tests of the newest loop over time.",
    discussion: SpeedTestPictureOptions.discussion(example: "edgeblue loop plot loop.svg"))

  @OptionGroup var picture: SpeedTestPictureOptions

  func run() async throws {
    try await picture.draw { folder in
      guard let contents = try folder.loop.load() else {
        throw Failure("there is no loop", hint: "`edgeblue loop start` starts one", status: .unavailable)
      }
      let count = contents.state.history.count
      return .init(
        svg: LoopPicture(contents.state, server: contents.settings.test.server).svg,
        subject: count == 1 ? "one attempt" : "\(count) attempts", member: ("attempts", count))
    }
  }
}
