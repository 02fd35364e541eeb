import DeterministicTesting
import Foundation
import SystemTesting
import Testing

@testable import MessageSending

/// The body of a message on the wire, compared with Foundation's base64 and JSON.
@Suite("Bodies of messages", .computing, .timeLimit(.minutes(5))) struct MessageBodyTests {
  private static func messages(_ count: Int) -> [SealedMessage] {
    var random = SeededGenerator(seed: 33)
    let special = [UInt8](repeating: 0xff, count: 773), zero = [UInt8](repeating: 0, count: 773)
    let drawn = (0..<count).map { _ in (0..<773).map { _ in UInt8.random(in: 0...255, using: &random) } }
    return ([special, zero] + drawn).map { SealedMessage(checked: $0) }
  }

  @Test("Every body has 1033 bytes, is a JSON string of unpadded base64, and decodes to its message")
  func everyBodyHasOneSize() throws {
    for message in Self.messages(200) {
      let body = MessageBody.encode(message)
      #expect(body.count == MessageBody.byteCount)
      let text = try JSONDecoder().decode(String.self, from: Data(body))
      #expect(Data(base64Encoded: text + "=") == Data(message.bytes))
      #expect(try MessageBody.decode(body) == message)
    }
  }

  /// 0xff is a row of slashes, which Foundation's encoder escapes.
  @Test("Padding and escaped slashes, which other clients write, are accepted") func otherClients() throws {
    for message in Self.messages(50) {
      let text = Data(message.bytes).base64EncodedString()
      #expect(try MessageBody.decode(Array("\"\(text)\"".utf8)) == message)
      #expect(try MessageBody.decode(Array(JSONEncoder().encode(text))) == message)
      #expect(try MessageBody.decode(Array(JSONEncoder().encode(String(text.dropLast())))) == message)
    }
  }

  @Test("Anything else is refused with a typed error", arguments: [0, 1, 2, 3, 772, 774, 2000])
  func otherSizesAreRefused(count: Int) {
    let text = Data([UInt8](repeating: 7, count: count)).base64EncodedString()
    for body in [text, "\"\(text)\"", "{\"data\":\"\(text)\"}", "\"\(text)"] {
      let error = #expect(throws: MessageSendingError.self) { try MessageBody.decode(Array(body.utf8)) }
      #expect(error?.code == .invalidArgument)
    }
  }

  @Test("A body that differs in any character from the encoded one decodes to another message, or is refused")
  func changedBodies() throws {
    let message = try #require(Self.messages(1).last)
    let body = MessageBody.encode(message)
    for index in body.indices {
      for other in [UInt8(ascii: "A"), UInt8(ascii: "\\"), UInt8(ascii: "\""), 0, 0x80] where other != body[index] {
        var changed = body
        changed[index] = other
        do {
          #expect(try MessageBody.decode(changed) != message)
        } catch {
          #expect(error.code == .invalidArgument)
        }
      }
    }
  }

  @Test("Random bytes as a body never trap") func randomBodies() {
    let inputs = ProcessInfo.processInfo.environment["EDGEBLUE_FUZZ_INPUTS"].flatMap { Int($0) } ?? 2000
    var random = SeededGenerator(seed: 5)
    let bytes = Array("\"\\/=+Aa0".utf8)
    for _ in 0..<inputs {
      let count = Int.random(in: 0...1100, using: &random)
      let inner = (0..<count).map { _ in
        Int.random(in: 0..<50, using: &random) == 0
          ? UInt8.random(in: 0...255, using: &random) : bytes[.random(in: 0..<bytes.count, using: &random)]
      }
      #expect(throws: MessageSendingError.self) { try MessageBody.decode([0x22] + inner.prefix(900) + [0x22]) }
      #expect(throws: MessageSendingError.self) { try MessageBody.decode(Array(inner.prefix(900))) }
    }
  }
}
