import Glibc

/// Lines in a terminal that replace the lines drawn before.
struct LiveScreen {
  private var drawn = 0

  /// The number of lines of the terminal; 24 if the terminal does not report a size.
  static var height: Int {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 1 else { return 24 }
    return Int(size.ws_row)
  }

  /// The number of columns of the terminal; `nil` if the terminal does not report a size.
  static var width: Int? {
    var size = winsize()
    return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 1 ? Int(size.ws_col) : nil
  }

  /// Returns the control sequences and text that replace the lines drawn before.
  ///
  /// The terminal itself cuts lines that are too long (DECAWM off), because only the terminal knows the width of each
  /// character. It puts the last character of the line into its last cell; an ellipsis replaces that character. Of the
  /// control sequences in a line only colours are kept.
  mutating func frame(_ lines: [String], width: Int? = LiveScreen.width) -> String {
    let up = drawn > 0 ? "\u{1b}[\(drawn)A" : ""
    drawn = lines.count
    let text = lines.map { line in
      let line = line.printablePainted(keepsLines: false)
      let columns = line.columns
      // In a full line, erasing to the end would erase its last character.
      guard let width, columns >= width else { return "\r\(line)\u{1b}[K\n" }
      return "\r\(line)" + (columns > width ? "\u{1b}[\(width)G…" : "") + "\n"
    }
    return "\u{1b}[?7l" + up + text.joined() + "\u{1b}[J\u{1b}[?7h"
  }
}
