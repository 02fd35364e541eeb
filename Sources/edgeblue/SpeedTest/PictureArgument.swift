import ArgumentParser

/// The picture of speed tests that a command draws.
struct PictureArgument: ParsableArguments {
  /// Returns the sentences about the picture in the help of a command, with an example.
  static func discussion(example: String) -> String {
    """
    The picture is SVG or PNG, by the end of the file's name. A file that exists is replaced only if it is a picture of \
    speed tests that this program has drawn. PNG needs `rsvg-convert` (package librsvg2-bin).

    EXAMPLES
      \(example)
    """
  }

  @Argument(help: "The picture to write, .svg or .png.") var output: String

  /// The file of the picture, which may be written.
  func file() throws -> PictureFile {
    let file = try PictureFile(output, of: .speedTest)
    try file.checkIsReplaceable()
    return file
  }
}
