import DeterministicTesting
import EdgeCoderTesting
import Foundation
import SystemTesting
import Testing

@testable import EdgeCoder

@Suite("Properties of the JSON scanner over random streams", .computing) struct JSONObjectScannerPropertyTests {
  private static let alphabet = Array("ab{}[]\":,\\ \n€😀é\u{1}0t")

  private func randomMessage(_ generator: inout SeededGenerator) -> [UInt8] {
    let text = String(
      (0..<Int.random(in: 0...80, using: &generator)).map { _ in
        Self.alphabet.randomElement(using: &generator) ?? "a"
      })
    return Wire.Response(id: text, output: text + text, ok: .random(using: &generator), durationMs: 7).encoded()
  }

  @Test("Every message comes back however the stream is cut", arguments: 0..<200 as Range<UInt64>)
  func everyMessageComesBackHoweverTheStreamIsCut(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let messages = (0..<Int.random(in: 1...8, using: &generator)).map { _ in randomMessage(&generator) }
    var scanner = JSONObjectScanner()
    var found: [JSONObjectScanner.Event] = []
    for piece in Array(messages.joined()).randomPieces(longest: [1, 3, 20, 500][Int(seed % 4)], using: &generator) {
      found += scanner.receive(piece, at: .zero)
    }
    #expect(found == messages.map { .object($0) })
  }

  @Test("Random bytes give the same events however they are cut", arguments: 0..<300 as Range<UInt64>)
  func randomBytesGiveTheSameEventsHoweverTheyAreCut(seed: UInt64) {
    var generator = SeededGenerator(seed: seed &+ 1000)
    let dictionary = ["{", "}", "{\"", "\"", "\\", ":", ",", "id", " ", "\n", "x", "{\"a\":\"b\"}", "€", "1"].map {
      Array($0.utf8)
    }
    let bytes = (0..<400).flatMap { _ in
      Bool.random(using: &generator)
        ? dictionary.randomElement(using: &generator) ?? [] : [UInt8.random(in: 0...255, using: &generator)]
    }
    var whole = JSONObjectScanner()
    let expected = whole.receive(bytes, at: .zero)
    for longest in [1, 2, 5, 40] {
      var scanner = JSONObjectScanner()
      var found: [JSONObjectScanner.Event] = []
      for piece in bytes.randomPieces(longest: longest, using: &generator) {
        found += scanner.receive(piece, at: .zero)
      }
      #expect(found == expected)
      #expect(scanner.phase == whole.phase)
      #expect(scanner.buffer == whole.buffer)
      #expect(scanner.garbage == whole.garbage)
    }
  }

  @Test("Every byte is accounted for", arguments: 0..<200 as Range<UInt64>) func everyByteIsAccountedFor(seed: UInt64) {
    var generator = SeededGenerator(seed: seed &+ 5000)
    let dictionary = ["{\"", "\"", "}", "id", ":", "{\"a\":\"b\"}", "z"].map { Array($0.utf8) }
    let bytes = (0..<200).flatMap { _ in dictionary.randomElement(using: &generator) ?? [] }
    var scanner = JSONObjectScanner()
    var accounted = 0
    for piece in bytes.randomPieces(longest: 9, using: &generator) {
      for event in scanner.receive(piece, at: .zero) {
        switch event {
        case .object(let object): accounted += object.count
        case .refused(let refusal): accounted += refusal.bytes
        }
      }
    }
    #expect(accounted + scanner.buffer.count + scanner.garbage.bytes == bytes.count)
  }

  @Test("Every object that Foundation accepts is found", arguments: 0..<100 as Range<UInt64>)
  func whatFoundationTakesForAnObjectIsFoundWhole(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed &+ 9000)
    func value(_ depth: Int) -> Any {
      switch Int.random(in: 0...(depth > 3 ? 3 : 5), using: &generator) {
      case 0: return Int.random(in: -1000...1000, using: &generator)
      case 1: return Bool.random(using: &generator)
      case 2: return NSNull()
      case 3: return String((0..<9).map { _ in Self.alphabet.randomElement(using: &generator) ?? "a" })
      case 4: return (0..<Int.random(in: 0...4, using: &generator)).map { _ in value(depth + 1) }
      default:
        return [String: Any](
          (0..<Int.random(in: 0...4, using: &generator)).map { ("k\($0){", value(depth + 1)) }, uniquingKeysWith: { $1 }
        )
      }
    }
    let options: JSONSerialization.WritingOptions = seed % 2 == 0 ? [.prettyPrinted, .sortedKeys] : []
    let bytes = [UInt8](try JSONSerialization.data(withJSONObject: ["top": value(0)], options: options))
    var scanner = JSONObjectScanner()
    let found = bytes.randomPieces(longest: 30, using: &generator).flatMap { scanner.receive($0, at: .zero) }
    #expect(found == [.object(bytes)])
  }

  @Test("A long reply passes in chunks of every size", arguments: [16 * 1024, 200 * 1024, Wire.messageLimit - 100])
  func aLongReplyPassesInChunksOfEverySize(
    length: Int
  ) throws {
    let output = String(String(repeating: "Grüße, 世界 😀\n\"", count: length / 16).prefix(length / 3))
    let message = Wire.Response(id: "1", output: output, ok: true, durationMs: 1).encoded()
    for size in [20, 182, 244, 509, 512] {
      var scanner = JSONObjectScanner()
      let events = Chunker.chunks(of: message, size: size).flatMap { scanner.receive(Array($0), at: .zero) }
      #expect(events == [.object(message)])
    }
    #expect(try Wire.Response.decode(message).output == output)
  }

  @Test("Non ASCII text survives every chunk edge") func nonASCIITextSurvivesEveryChunkEdge() throws {
    for shift in 0..<8 {
      let output = String(repeating: "x", count: shift) + String(repeating: "é€😀", count: 200)
      let message = Wire.Response(id: "1", output: output, ok: true, durationMs: 0).encoded()
      for mtu in [23, 185, 247, 517] {
        var scanner = JSONObjectScanner()
        let chunks = Chunker.chunks(of: message, size: Chunker.notificationSize(mtu: mtu))
        let events = chunks.flatMap { scanner.receive(Array($0), at: .zero) }
        guard case .object(let bytes) = events.first else {
          Issue.record("no object at MTU \(mtu), shift \(shift)")
          return
        }
        #expect(try Wire.Response.decode(bytes).output == output)
      }
    }
  }
}
