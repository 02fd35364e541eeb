import Glibc

/// Lines that are drawn over the ones before, in a terminal.
struct LiveScreen {
  private var drawn = 0

  /// How many lines fit below each other without scrolling; 24 when the terminal does not say.
  static var height: Int {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 1 else { return 24 }
    return Int(size.ws_row)
  }

  /// How many letters fit beside each other; `nil` when the terminal does not say.
  static var width: Int? {
    var size = winsize()
    return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 1 ? Int(size.ws_col) : nil
  }

  /// The control sequences and text that replace what was drawn before. Lines longer than the terminal is wide are cut
  /// by the terminal itself (DECAWM off): only it knows how wide a letter is. It puts the end of the line into its last
  /// cell; an ellipsis takes its place.
  mutating func frame(_ lines: [String], width: Int? = LiveScreen.width) -> String {
    let up = drawn > 0 ? "\u{1b}[\(drawn)A" : ""
    drawn = lines.count
    let text = lines.map { line in
      let letters = line.letters
      // Where the line is full, what is erased behind it would be its last letter.
      guard let width, letters >= width else { return "\r\(line)\u{1b}[K\n" }
      return "\r\(line)" + (letters > width ? "\u{1b}[\(width)G…" : "") + "\n"
    }
    return "\u{1b}[?7l" + up + text.joined() + "\u{1b}[J\u{1b}[?7h"
  }
}
