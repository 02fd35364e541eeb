import Testing

@testable import edgeblue

/// Texts from the air and from servers that would control a terminal.
@Suite("Text that controls a terminal") struct TerminalAttacks {
  @Test("No control sequence of a reply reaches the terminal; its lines and tabs do")
  func sequencesAreMadeVisible() {
    // Set the clipboard (OSC 52), the title, colours; delete, bell, bidirectional override.
    for hidden in ["\u{1b}]52;c;cm0gLXJm\u{7}", "\u{1b}]0;title\u{7}", "\u{1b}[31m", "\u{7f}", "\u{9b}31m", "\u{202e}"]
    {
      let shown = "one\(hidden)\n\ttwo\r\n".printableLines
      #expect(shown.unicodeScalars.allSatisfy { !$0.properties.isControl || "\n\t".unicodeScalars.contains($0) })
      #expect(!shown.unicodeScalars.contains { [0x1b, 0x9b, 0x202e].contains($0.value) })
      #expect(shown.hasPrefix("one"))
      #expect(shown.contains("\n\ttwo"))
    }
    #expect("häß\t😀\n".printableLines == "häß\t😀\n")
  }
}

extension Unicode.Scalar.Properties {
  fileprivate var isControl: Bool { generalCategory == .control }
}
