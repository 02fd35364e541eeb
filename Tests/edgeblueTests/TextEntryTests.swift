import Testing

@testable import edgeblue

/// The text of a message as a terminal sends it, byte by byte.
@Suite("The text that a user types") struct TextEntryTests {
  private func entry(_ bytes: [UInt8]) -> TextEntry {
    var entry = TextEntry()
    for byte in bytes { _ = entry.add(byte) }
    return entry
  }

  @Test("Letters of any length, tabs and line ends are text; other control characters are not") func lettersAreText() {
    #expect(entry(Array("Grüße\t你好 👩‍👩‍👧\r".utf8)).text == "Grüße\t你好 👩‍👩‍👧\n")
    #expect(entry([0x1b, 0x5b, 0x41, 0, 1, 0x61]).text == "[Aa")
  }

  @Test("A character that is not complete yet is left out") func halfACharacter() {
    let bytes = Array("a你".utf8)
    #expect(entry(Array(bytes.dropLast())).text == "a")
    #expect(entry(Array(bytes.dropLast(2))).text == "a")
    #expect(entry(bytes).text == "a你")
  }

  @Test("Backspace removes one character, however many bytes it has, and nothing from an empty text") func backspace() {
    #expect(entry(Array("ab👩‍👩‍👧".utf8) + [127]).text == "ab")
    #expect(entry(Array("ü".utf8) + [8, 8, 127] + Array("x".utf8)).text == "x")
  }

  @Test("Ctrl-D ends the text") func theEnd() {
    var entry = TextEntry()
    #expect(entry.add(0x61) == .typing)
    #expect(entry.add(4) == .done)
    #expect(entry.text == "a")
  }
}
