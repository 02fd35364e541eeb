import EdgeCoder
import Testing

@testable import EdgeCoderHTTP

@Suite("The line splitter") struct LineSplitterTests {
  private static let text = "eins\r\nzwei äöü 🐟\n\ndrei\r\nohne Ende 世"
  private static let lines = ["eins", "zwei äöü 🐟", "", "drei", "ohne Ende 世"]

  /// Every piece length cuts the CR from its LF and every character in the middle somewhere.
  @Test("A reply split anywhere is decoded", arguments: 1...40) func cutAnywhere(size: Int) throws {
    var splitter = LineSplitter(limit: 100)
    var found: [String] = []
    let bytes = Array(Self.text.utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      found += try splitter.append(bytes[start..<min(start + size, bytes.count)])
    }
    if let last = splitter.finish() { found.append(last) }
    #expect(found == Self.lines)
  }

  @Test("Lines within the limit pass whatever their total") func linesWithinTheLimitPassWhateverTheirTotal() throws {
    var splitter = LineSplitter(limit: 4)
    #expect(try splitter.append(Array("abcd\nabcd\nab".utf8)) == ["abcd", "abcd"])
    #expect(try splitter.append(Array("cd\n".utf8)) == ["abcd"])
  }

  @Test("Longer lines are refused", arguments: ["abcde", "abcd\nabcde\n"]) func longerLinesAreRefused(text: String) {
    var splitter = LineSplitter(limit: 4)
    let error = #expect(throws: EngineError.self) { try splitter.append(Array(text.utf8)) }
    #expect(error?.code == .badReply)
  }

  @Test("Invalid UTF 8 is replaced not fatal") func invalidUTF8IsReplacedNotFatal() throws {
    var splitter = LineSplitter(limit: 10)
    #expect(try splitter.append([0x61, 0xff, 0x62, 0x0a]) == ["a\u{fffd}b"])
  }

  @Test("Nothing is left after a full line") func nothingIsLeftAfterAFullLine() throws {
    var splitter = LineSplitter(limit: 10)
    _ = try splitter.append(Array("a\n".utf8))
    #expect(splitter.finish() == nil)
  }
}

@Suite("The parser of server-sent events") struct EventStreamParserTests {
  private func events(_ lines: [String]) -> [String] {
    var parser = EventStreamParser()
    return lines.compactMap { parser.append(line: $0) } + [parser.finish()].compactMap { $0 }
  }

  @Test("One event per empty line") func oneEventPerEmptyLine() {
    #expect(events(["data: a", "", "data:b", ""]) == ["a", "b"])
  }

  @Test("Data lines are joined and only one space is dropped") func dataLinesAreJoinedAndOnlyOneSpaceIsDropped() {
    #expect(events(["data:  a", "data: b", ""]) == [" a\nb"])
  }

  @Test("Comments and other fields are ignored") func commentsAndOtherFieldsAreNoEvents() {
    #expect(events([": keep-alive", "", "event: x", "id: 1", "retry: 5", ""]).isEmpty)
  }

  @Test("The last event needs no empty line") func theLastEventNeedsNoEmptyLine() {
    #expect(events(["data: a"]) == ["a"])
  }
}
