import ArgumentParser

/// The options of a command that draws a picture of speed tests.
struct SpeedTestPictureOptions: ParsableArguments {
  /// What a command draws.
  struct Drawing {
    let svg: String
    /// What the picture shows, in words.
    let subject: String
    /// The same for programs.
    let member: (key: String, value: Int)
  }

  /// Returns the sentences about the picture in the help of a command, with an example.
  static func discussion(example: String) -> String {
    """
    The picture is SVG or PNG, by the end of the file's name. A file that exists is replaced only if it is a picture of \
    speed tests that this program has drawn. PNG needs `rsvg-convert` (package librsvg2-bin).

    EXAMPLES
      \(example)
    """
  }

  @Argument(help: "The picture to write, .svg or .png.", completion: .file()) var output: String
  @OptionGroup var state: SpeedTestFolderOptions
  @OptionGroup var common: CommonOptions

  /// Runs a command that draws something of the folder for speed tests.
  func draw(_ drawing: (SpeedTestFolder) throws -> Drawing) async throws {
    try await common.run { terminal in
      let file = try PictureFile(output, of: .speedTest)
      // First: drawing takes longer.
      try file.checkIsReplaceable()
      let drawing = try drawing(state.folder())
      try await file.write(drawing.svg)
      if terminal.json {
        terminal.print(json: .object(["path": .string(file.path), drawing.member.key: .number(drawing.member.value)]))
      }
      terminal.say("\(file.path.printable) shows \(drawing.subject)")
    }
  }
}
