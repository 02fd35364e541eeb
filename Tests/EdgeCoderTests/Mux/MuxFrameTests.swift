import DeterministicTesting
import SystemTesting
import Testing

@testable import EdgeCoder

@Suite("Frames of the v2 mux", .computing) struct MuxFrameTests {
  /// The vectors of docs/v2-mux.md.
  static let vectors: [(MuxFrame, String)] = [
    (
      .hello(MuxTerms(window: 65536, frameLimit: 2048, inflates: true)),
      "01 00 00000000 02 01 00000100 0008 2f7b811e"
    ),
    (
      .hello(MuxTerms(window: 65536, frameLimit: 2048, inflates: true, takesDetails: true)),
      "01 00 00000000 02 03 00000100 0008 066a1e89"
    ),
    (
      .welcome(MuxTerms(window: 16384, frameLimit: 672, inflates: false)),
      "02 00 00000000 02 00 00400000 a002 9b3f0a6a"
    ),
    (
      .welcome(
        MuxTerms(window: 65536, frameLimit: 2048, inflates: true, takesDetails: true, takesForms: true)),
      "02 00 00000000 02 07 00000100 0008 ce6b3001"
    ),
    (
      .open(stream: 1, maxTokens: 512, length: 2, text: Array("hi".utf8)),
      "10 00 01000000 00020000 02000000 6869 6325e76d"
    ),
    (.data(stream: 1, text: Array("hel".utf8)), "11 00 01000000 68656c 21618fe1"),
    (
      .end(stream: 1, status: .ok, durationMs: 1500, text: Array("lo".utf8)),
      "12 00 01000000 00 dc050000 6c6f 9581f8a3"
    ),
    (
      .end(
        stream: 1, status: .ok, durationMs: 1500, details: Array(#"{"reason":"length","replyTokens":2}"#.utf8),
        text: Array("lo".utf8)),
      "12 02 01000000 00 dc050000 2300 7b22726561736f6e223a226c656e677468222c227265706c79546f6b656e73223a327d"
        + " 6c6f 2f1c1181"
    ),
    (.credit(stream: 1, bytes: 32768), "13 00 01000000 00800000 83498c02"),
    (.cancel(stream: 1), "14 00 01000000 4b863991"),
    (.progress(stream: 1, ahead: 3), "15 00 01000000 0300 406008b1"),
    (
      .open(
        stream: 1, maxTokens: 0, length: 27, isForm: true, text: RequestForm.encoded(InferenceRequest(prompt: "hi"))),
      "10 04 01000000 00000000 1b000000 7b2276657273696f6e223a312c2270726f6d7074223a226869227d d153ed19"
    ),
    (.fail(reason: "no"), "1f 00 00000000 6e6f 0ec6cae6"),
  ]

  static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  @Test("The vectors of the specification hold") func vectors() throws {
    for (frame, bytes) in Self.vectors { #expect(Self.hex(frame.encoded()) == bytes.replacing(" ", with: "")) }
    // A frame of a later version that may be passed over, and one that may not.
    #expect(try MuxFrame.decode([0x80, 0, 0, 0, 0, 0, 0x7b, 0xb5, 0x72, 0xaf]) == nil)
  }

  @Test("Each kind of refusal has a status of its own", arguments: Answer.Refusal.Kind.allCases)
  func statuses(kind: Answer.Refusal.Kind) {
    #expect(MuxStatus(kind).refusal == kind)
  }

  @Test("Decoding returns the encoded frame") func whatIsEncodedIsDecoded() throws {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<2000 {
      let text = (0..<Int.random(in: 1...300, using: &random)).map { _ in UInt8.random(in: 0...3, using: &random) }
      let frames: [MuxFrame] = [
        .data(stream: .random(in: 0 ... .max, using: &random), text: text),
        .open(stream: 1, maxTokens: .random(in: 0 ... .max, using: &random), length: .max, text: text),
        .end(
          stream: 2, status: MuxStatus(rawValue: .random(in: 0...5, using: &random))!, durationMs: .max, text: text),
        .end(stream: 3, status: .ok, durationMs: 1, details: text, text: text),
      ]
      for frame in frames {
        #expect(try MuxFrame.decode(frame.encoded()) == frame)
        let short = frame.encoded(deflating: true)
        #expect(try MuxFrame.decode(short) == frame)
        #expect(short.count <= frame.encoded().count)
      }
    }
  }

  @Test("A damaged frame is always detected") func damageIsAlwaysSeen() {
    var random = SeededGenerator(seed: 8)
    for (frame, _) in Self.vectors {
      let bytes = frame.encoded()
      for bit in 0..<bytes.count * 8 {
        var damaged = bytes
        damaged[bit / 8] ^= 1 << (bit % 8)
        #expect(throws: MalformedFrame.self) { try MuxFrame.decode(damaged) }
      }
      for length in 0..<bytes.count {
        #expect(throws: MalformedFrame.self) { try MuxFrame.decode(Array(bytes.prefix(length))) }
      }
    }
    for _ in 0..<5000 {
      let noise = (0..<Int.random(in: 0...80, using: &random)).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
      #expect(throws: MalformedFrame.self) { try MuxFrame.decode(noise) }
    }
  }

  @Test("Text that is not DEFLATE is refused") func textThatIsNoDeflateIsRefused() throws {
    #expect(Deflate.expanded([1, 2, 3, 4], limit: 100) == nil)
    let long = [UInt8](repeating: 7, count: 10_000)
    let short = try #require(Deflate.compressed(long))
    #expect(short.count < 100)
    #expect(Deflate.expanded(short, limit: 10_001) == long)
    #expect(Deflate.expanded(short, limit: 5_000) == nil, "a small frame must not become a large one")
    #expect(Deflate.expanded(Array(short.dropLast()), limit: 10_001) == nil)
  }

  @Test("Text is cut between characters") func textIsCutBetweenCharacters() {
    let text = "aé€😀" + "x😀é"
    for size in 1...5 {
      var pieces = UTF8Decoder()
      let bytes = Array(text.utf8)
      var read = ""
      for start in stride(from: 0, to: bytes.count, by: size) {
        let piece = pieces.decode(Array(bytes[start..<min(start + size, bytes.count)]))
        #expect(!piece.unicodeScalars.contains("\u{fffd}"))
        read += piece
      }
      #expect(read + pieces.finish() == text)
    }
    var pieces = UTF8Decoder()
    #expect(pieces.decode([0x61, 0xf0, 0x9f]) == "a")
    #expect(pieces.finish() == "\u{fffd}")
    #expect(pieces.decode([0xff, 0x62]) == "\u{fffd}b")
  }
}
