import ArgumentParser
import SpeedTest

/// `edgeblue speedtest plot`
struct SpeedTestPlotCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plot", abstract: "Draw a stored test: both directions over time, and the round trips.",
    discussion: PictureArgument.discussion(example: "edgeblue speedtest plot 17 test.svg"))

  @Argument(help: "The number of the test.") var number: Int
  @OptionGroup var picture: PictureArgument
  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    try await common.run { terminal in
      let file = try picture.file()
      let record = try state.folder().archive.existing(number)
      try await file.write(SpeedTestPicture(record).svg)
      if terminal.json { terminal.print(json: ["path": .string(file.path), "number": .number(number)]) }
      terminal.say("\(file.path.printable) shows speed test \(number) of \(Terminal.clock(atMs: record.startMs))")
    }
  }
}

extension SpeedTestArchive {
  /// Returns the result of a number.
  /// - Throws: ``Failure`` if there is none.
  func existing(_ number: Int) throws -> SpeedTestRecord {
    guard let record = try record(number) else {
      throw Failure(
        "there is no speed test \(number)", hint: "`edgeblue speedtest history` lists the stored ones",
        status: .unavailable)
    }
    return record
  }
}
