import MessageSending
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

  @Test("What was typed stays in one place in memory, and is overwritten there when it is removed or wiped")
  func memoryIsWiped() throws {
    var entry = TextEntry()
    func memory() throws -> UnsafeRawPointer { try #require(entry.typed.bytes.withUnsafeBytes { $0.baseAddress }) }
    for byte in "Grüße".utf8 { _ = entry.add(byte) }
    let place = try memory()
    for byte in [UInt8](repeating: 0x61, count: 4000) + [127, 127] { _ = entry.add(byte) }
    #expect(try memory() == place)
    #expect(UnsafeRawBufferPointer(start: place + 4004, count: 3).elementsEqual([0x61, 0, 0]))
    entry.wipe()
    #expect(try memory() == place)
    #expect(UnsafeRawBufferPointer(start: place, count: 4007).allSatisfy { $0 == 0 })
    #expect(entry.text.isEmpty)
  }

  @Test("A text that is too long is not cut to one that fits") func aTextThatIsTooLong() throws {
    let entry = entry([UInt8](repeating: 0x61, count: PaddedText.largestByteCount + 7))
    #expect(entry.text.utf8.count > PaddedText.largestByteCount)
  }
}

/// The escape sequences of a terminal, which are no text.
@Suite("The keys of a terminal") struct KeySequencesTests {
  private func keys(_ text: String) -> String {
    var sequences = KeySequences()
    return String(decoding: text.utf8.filter { sequences.isKey($0) }, as: UTF8.self)
  }

  @Test(
    "No byte of an arrow key, a function key or a letter with Alt is text",
    arguments: [
      "\u{1b}[D", "\u{1b}[1;5C", "\u{1b}OP", "\u{1b}[15~", "\u{1b}[[A", "\u{1b}b", "\u{1b}[?1;2c", "\u{1b}\u{1b}[A",
    ])
  func sequencesAreNoText(sequence: String) {
    #expect(keys("a\(sequence)ß\(sequence)[D") == "aß[D")
  }

  @Test("Control characters and letters of other languages are never part of a sequence") func othersAreText() {
    #expect(keys("\u{1b}\u{4}") == "\u{4}")
    #expect(keys("\u{1b}[1\u{4}") == "\u{4}")
    #expect(keys("\u{1b}üa") == "üa")
    #expect(keys("\u{1b}[\u{7f}a") == "\u{7f}a")
  }

  @Test("Escape alone is a key without text") func escapeAlone() {
    var sequences = KeySequences()
    let isEscapeText = sequences.isKey(0x1b)
    #expect(!isEscapeText)
    #expect(sequences.isAfterEscape)
    sequences.reset()
    let isBracketText = sequences.isKey(0x5b)
    #expect(isBracketText)
  }
}
