import DeterministicTesting
import Testing

@testable import EdgeCoder

@Suite("The JSON scanner") struct JSONObjectScannerTests {
  typealias Event = JSONObjectScanner.Event

  /// What the scanner makes of pieces that arrive at the same instant.
  private func scan(_ pieces: [[UInt8]], sizeLimit: Int = 1000) -> [Event] {
    var scanner = JSONObjectScanner(sizeLimit: sizeLimit)
    return pieces.flatMap { scanner.receive($0, at: .zero) }
  }

  private func scan(_ text: String, sizeLimit: Int = 1000) -> [Event] { scan([Array(text.utf8)], sizeLimit: sizeLimit) }

  private func object(_ text: String) -> Event { .object(Array(text.utf8)) }

  private func refused(_ reason: JSONObjectScanner.Refusal.Reason, _ bytes: Int) -> Event {
    .refused(JSONObjectScanner.Refusal(reason, bytes: bytes))
  }

  /// An object of which only the beginning is one.
  private func refused(_ reason: JSONObjectScanner.Refusal.Reason, _ object: String) -> Event {
    .refused(JSONObjectScanner.Refusal(reason, Array(object.utf8)[...]))
  }

  static let objects = [
    #"{}"#,
    #"{ }"#,
    #"{"id":"a","prompt":"hello"}"#,
    #"{"a":{"b":[{"c":1},{"d":"}"}]}}"#,
    #"{"quote":"\"","backslash":"\\","both":"\\\"","brace":"{[}]"}"#,
    #"{"n":[-1.5e+10,0,true,false,null],"é€😀":"ä\u00e4\ud83d\ude00😀€é"}"#,
    "{\n  \"id\" : \"x\",\r\n\t\"ok\" : true\n}",
    #"{"":"","output":"ends with {"}"#,
    #"{"if (x) {":"}"}"#,
  ]

  @Test("An object split at any two places is found", arguments: objects) func findsAnObjectCutAtEveryPairOfPlaces(
    text: String
  ) {
    let bytes = Array(text.utf8)
    for first in 0...bytes.count {
      for second in first...bytes.count {
        let pieces = [Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])]
        #expect(scan(pieces) == [object(text)], "cut at \(first) and \(second)")
      }
    }
  }

  @Test("Objects are found byte by byte") func findsObjectsByteByByte() {
    let stream = Self.objects.joined()
    #expect(scan(stream.utf8.map { [$0] }) == Self.objects.map(object))
  }

  @Test("Objects in one chunk are found with any white space between") func findsObjectsInOnePieceWithAnySpaceBetween()
  {
    let stream = " \r\n\t" + Self.objects.joined(separator: "\n \t\r") + "  "
    #expect(scan(stream) == Self.objects.map(object))
  }

  @Test("The scanner is idle only between objects") func isBetweenObjectsOnlyWhenNothingIsHeld() {
    var scanner = JSONObjectScanner()
    #expect(scanner.isIdle)
    _ = scanner.receive(Array(#"{"a":1"#.utf8), at: .zero)
    #expect(!scanner.isIdle)
    _ = scanner.receive(Array("} ".utf8), at: .zero)
    #expect(scanner.isIdle)
    #expect(scanner.deadline == nil)
  }

  // MARK: Garbage

  @Test("Bytes before an object are discarded") func skipsGarbageBeforeAnObject() {
    #expect(scan(#"garbage{"a":1}"#) == [refused(.notAnObject, 7), object(#"{"a":1}"#)])
    #expect(scan(#"}]"x" {"a":1}"#) == [refused(.notAnObject, 6), object(#"{"a":1}"#)])
  }

  @Test("A byte order mark is discarded") func takesAByteOrderMarkForGarbage() {
    #expect(scan([[0xef, 0xbb, 0xbf] + Array(#"{"a":1}"#.utf8)]) == [refused(.notAnObject, 3), object(#"{"a":1}"#)])
  }

  @Test("Discarding ends only at a brace followed by a string") func garbageEndsOnlyAtABraceWithAStringAfterIt() {
    let text = #"func f() {} if x { return } { "a":1}"#
    #expect(scan(text) == [refused(.notAnObject, 28), object(#"{ "a":1}"#)])
  }

  @Test("A brace that starts no object is discarded") func aBraceThatBeginsNoObjectIsGarbage() {
    #expect(scan(#"{{{1{"a":1}"#) == [refused(.notAnObject, 4), object(#"{"a":1}"#)])
  }

  @Test("An array is not a message") func anArrayIsNoMessage() {
    #expect(scan(#"[1,2]{"a":1}"#) == [refused(.notAnObject, 5), object(#"{"a":1}"#)])
  }

  // MARK: Lost bytes

  @Test("A message truncated within a string is followed by the next") func aMessageCutOffInAStringGivesWayToTheNext() {
    let cut = #"{"id":"1","output":"once upon a ti"#
    let whole = #"{"id":"2","output":"whole"}"#
    #expect(scan(cut + whole) == [refused(.malformed, cut), object(whole)])
  }

  @Test("A message with a gap is refused and the next is found") func aMessageWithAHoleIsRefusedAndTheNextIsFound() {
    // The closing quote of "output" is lost: the quotes of what follows are the wrong way round.
    let hole = #"{"id":"1","output":"once upon a ,"ok":true,"durationMs":5}"#
    let whole = #"{"id":"2","output":"whole"}"#
    let events = scan(hole + whole)
    let good = #"{"id":"1","output":"once upon a ,""#
    let rest = hole.utf8.count - good.utf8.count
    #expect(events == [refused(.malformed, good), refused(.notAnObject, rest), object(whole)])
  }

  @Test("A damaged message fails its request at once") func whoseMessageWasDamagedIsToldAtOnce() {
    // Chunks of two messages, mixed; nothing that follows makes an object of it.
    let events = scan(#"{"id":"1","output":"once {"id":"2","output":"twice upon a time"#)
    guard case .refused(let refusal) = events.first else {
      Issue.record("no refusal but \(events)")
      return
    }
    #expect(Wire.recoverID(fromHead: refusal.head) == "1")
  }

  @Test("A control character in a string is refused") func aControlCharacterInAStringIsRefused() {
    let events = scan("{\"a\":\"line\nbreak\"}{\"b\":1}")
    #expect(events == [refused(.malformed, #"{"a":"line"#), refused(.notAnObject, 8), object(#"{"b":1}"#)])
  }

  // MARK: Limits

  @Test("An object of exactly the limit passes") func anObjectOfExactlyTheLimitPasses() {
    let text = #"{"a":"\#(String(repeating: "x", count: 92))"}"#
    #expect(text.utf8.count == 100)
    #expect(scan(text, sizeLimit: 100) == [object(text)])
    #expect(scan(text.utf8.map { [$0] }, sizeLimit: 100) == [object(text)])
  }

  @Test("An object over the limit is refused once and followed to its end")
  func anObjectOverTheLimitIsRefusedOnceAndFollowedToItsEnd() {
    let large = Array(#"{"id":"7","b":{"c":"\#(String(repeating: #"}\""#, count: 40))"}}"#.utf8)
    let next = #"{"b":1}"#
    for longest in [1, 7, 1000] {
      var scanner = JSONObjectScanner(sizeLimit: 99)
      var generator = SeededGenerator(seed: 1)
      var events: [Event] = []
      for piece in (large + Array(next.utf8)).randomPieces(longest: longest, using: &generator) {
        events += scanner.receive(piece, at: .zero)
        #expect(scanner.buffer.count <= 99)
      }
      guard case .refused(let refusal) = events.first else {
        Issue.record("no refusal but \(events)")
        return
      }
      #expect(refusal.reason == .tooLarge)
      #expect(Wire.recoverID(fromHead: refusal.head) == "7")
      #expect(Array(events.dropFirst()) == [object(next)])
    }
  }

  @Test("The head of a refused object is bounded") func theHeadHandedBackIsBounded() {
    let large = Array(#"{"id":"7","a":"\#(String(repeating: "x", count: 5000))"#.utf8)
    guard case .refused(let refusal) = scan([large], sizeLimit: 4000).first else {
      Issue.record("not refused")
      return
    }
    #expect(refusal.head == Array(large.prefix(JSONObjectScanner.headLimit)))
  }

  @Test("An object that does not grow is discarded") func anObjectThatStandsStillIsThrownAway() {
    var scanner = JSONObjectScanner(idleLimit: .seconds(10))
    #expect(scanner.receive(Array(#"{"a":"#.utf8), at: .seconds(1)) == [])
    #expect(scanner.deadline == .seconds(11))
    #expect(scanner.expire(at: .milliseconds(10_999)) == nil)
    #expect(scanner.receive(Array("1".utf8), at: .milliseconds(10_999)) == [])
    #expect(scanner.expire(at: .seconds(11)) == nil, "each byte starts the time anew")
    #expect(scanner.expire(at: .milliseconds(20_999))?.reason == .idle)
    #expect(scanner.isIdle)
    #expect(scanner.receive(Array(#"{"b":1}"#.utf8), at: .seconds(30)) == [object(#"{"b":1}"#)])
  }

  @Test("Receiving after the idle limit discards the old part") func receivingAfterTheIdleLimitThrowsTheOldPartAway() {
    var scanner = JSONObjectScanner(idleLimit: .seconds(10))
    _ = scanner.receive(Array(#"{"a":"#.utf8), at: .zero)
    let events = scanner.receive(Array(#"{"b":1}"#.utf8), at: .seconds(10))
    #expect(events == [refused(.idle, #"{"a":"#), object(#"{"b":1}"#)])
  }

  @Test("An endless run of discarded bytes is reported at its end") func endlessGarbageIsReportedWhenItStops() {
    var scanner = JSONObjectScanner(idleLimit: .seconds(10))
    for _ in 0..<1000 { #expect(scanner.receive([0x78, 0x78], at: .zero) == []) }
    #expect(scanner.buffer.isEmpty)
    #expect(scanner.expire(at: .seconds(10)) == JSONObjectScanner.Refusal(.notAnObject, bytes: 2000))
  }

  @Test("A reset discards the incomplete object") func resetForgetsTheUnfinishedObject() {
    var scanner = JSONObjectScanner()
    _ = scanner.receive(Array(#"{"a":""#.utf8), at: .zero)
    #expect(scanner.reset() == 6)
    #expect(scanner.receive(Array(#"{"b":1}"#.utf8), at: .zero) == [object(#"{"b":1}"#)])
  }
}
