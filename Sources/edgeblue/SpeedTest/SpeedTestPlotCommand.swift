import ArgumentParser
import SpeedTest

/// `edgeblue speedtest plot`
struct SpeedTestPlotCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plot", abstract: "Draw a stored test: both directions over time, and the round trips.",
    discussion: SpeedTestPictureOptions.discussion(example: "edgeblue speedtest plot 17 test.svg"))

  @Argument(help: "The number of the test.") var number: Int
  @OptionGroup var picture: SpeedTestPictureOptions

  func run() async throws {
    try await picture.draw { folder in
      let record = try folder.archive.existing(number)
      return .init(
        svg: SpeedTestPicture(record).svg,
        subject: "speed test \(number) of \(Terminal.clock(atMs: record.startMs))", member: ("number", number))
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
