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

  /// The control sequences and text that replace what was drawn before. Lines longer than the terminal is wide are cut
  /// by the terminal itself (DECAWM off): only it knows how wide a letter is.
  mutating func frame(_ lines: [String]) -> String {
    let up = drawn > 0 ? "\u{1b}[\(drawn)A" : ""
    drawn = lines.count
    return "\u{1b}[?7l" + up + lines.map { "\r\($0)\u{1b}[K\n" }.joined() + "\u{1b}[J\u{1b}[?7h"
  }
}
