import Foundation
import Testing

@testable import MessageSending

/// The vector of the specification, made by PyNaCl from fixed keys.
private enum Vector {
  static let text = "The quick brown fox jumps over the lazy dog. Grüße, 你好."
  static let sha256 = "9e462ba6ef1d84716caa40bb851e16e6b88c310a73b5d1fc149b80f94fe86202"
  static let message =
    "ov31/loh2ZKHANp4d1v4JNYh4IhH59u/6QhQD1G9pllgGrARypZm6464lACRR+oDTm19NDhOFdKDMWzArpXS4epzrXkzDd536fQbY/WlW45tPD5wexCX"
    + "WZld4qe43tVRZp+MPFwuQGvX0yt2wi0RWfa9y2qwDQpIALXIi/rMdbdBJ2SrhXHWyyM1DokFDY6mr3pvqrTh9tv4e3m2J0kzq7zb0JQ+eoqpgB/BgTP6"
    + "AakDoeCnT704/mbmnvRNjLXbLGSEABLsWh0dBtFn32oYMEmSzH401m7McqP3eyiFbSrHrmT1lH3geZr7Zbfodk/Sg713A8ceJd3t0EG+N6+chLqJKHTG"
    + "XJPn+DaBiiFDW8MVXgqjn9mX5Vl1IEkd16jbf2BLddI4KLIQURYCAbdpNeqw35zsD9QtPvyfK1gTM4JxO+FsbggZEgeB+jILTm3pJMaIyhWAzeMrTDAW"
    + "Ed6FHEqtJgDz7HzwEZpFWSO/yZ7dqJU2y2UWeIH5rSvGt6+EZ2RufEhQDrrSCtixFgKy1Ojz2v+HQd3isZPuFeFnBa4WSyQ9xdH2nPxqSKTcQFJJUJLe"
    + "SwPeKMGy1sMOLskZq0ix5ZngdVxACIPhYk/x9ieXw2zVkwQTWZ0NJFgJygfFutTegnncOTm8ajWdCOla+457VQACLo8ajlEK4g65M+O5Z5rKwQPY2JLB"
    + "wRFODXwNmKVc/t5DT1pFHG4+NF8N6bQ7ZpfMACdzMS4sw2+Gwk+EdOxvGK384Hd0JHx+Qr2KXsQmiIChK+b1dSq/qTyDjiCv9+2VL8NSWHJYj+ZyvC6+"
    + "6uPhUieUEdKUoOEiaRBH4OJuRqXAyKBhhsuQrVs42gK5lu2nuopLsEj+V3xQkaiOnOdzw64imRiZS0KXwbR/Xwl5kvhhthCsJN+5v92BQHRTTynugMQw"
    + "Bqo6B5cUFdZrtXg6DP1PcbFpf3BGRjDQZMeMC4rJwxEjLknPCEATc06fPEYJKnCgq4gBxqB+B5FWzK6t4NLzZhUCL4nvqmlAes4elLk="

  static func bytes() throws -> [UInt8] { [UInt8](try #require(Data(base64Encoded: message))) }
}

/// The secret key that a name has in the vector: the SHA-256 of the name.
func secretKey(_ name: String) throws -> BoxSecretKey {
  var bytes = Sodium.sha256(name.utf8)
  return try BoxSecretKey(SecretBytes(taking: &bytes))
}

@Suite("Cryptography of messages")
struct CryptographyTests {
  let nodes: [BoxSecretKey]
  let journalist: BoxSecretKey
  init() throws {
    nodes = [try secretKey("edgeblue recipient 1"), try secretKey("edgeblue recipient 2")]
    journalist = try secretKey("edgeblue journalist")
  }

  @Test("Either recipient opens the vector, and the journalist reads its text")
  func vector() throws {
    let bytes = try Vector.bytes()
    #expect(QueueLayoutTests.hex(Sodium.sha256(bytes)) == Vector.sha256)
    for node in nodes {
      let contents = try MessageContents(SealedMessage(bytes: bytes), with: node)
      #expect(contents.tag == [1, 2, 3, 4])
      let (user, text) = try contents.letter(with: journalist)
      #expect(text == Vector.text)
      #expect(user.bytes == Sodium.sha256("user".utf8))
    }
  }

  @Test("The parts have the sizes of the specification")
  func sizes() throws {
    #expect(MessageContents.byteCount == 597)
    #expect(MessageContents.boxByteCount == 593)
    #expect(TwoRecipientBox.overhead == 176)
    #expect(SealedBox.overhead == 48)
  }

  @Test("A text is sealed and opened; nobody else opens it", arguments: ["", "a", Vector.text])
  func roundTrip(text: String) throws {
    let user = try BoxSecretKey().publicKey
    let contents = try MessageContents(text, tag: [9, 9, 9, 9], to: journalist.publicKey, from: user)
    let message = try contents.sealed(to: nodes[0].publicKey, nodes[1].publicKey)
    #expect(message.bytes.count == SealedMessage.byteCount)
    for node in nodes {
      let opened = try MessageContents(message, with: node)
      #expect(opened.tag == [9, 9, 9, 9])
      let (from, read) = try opened.letter(with: journalist)
      #expect(read == text)
      #expect(from == user)
      #expect(throws: MessageSendingError.cannotOpen) { try opened.letter(with: node) }
    }
    #expect(throws: MessageSendingError.cannotOpen) { try MessageContents(message, with: journalist) }
  }

  @Test("A message that was changed anywhere is not opened")
  func tampering() throws {
    let bytes = try Vector.bytes()
    for place in stride(from: 0, to: bytes.count, by: 7) {
      var changed = bytes
      changed[place] ^= 0x10
      let message = try SealedMessage(bytes: changed)
      // The first node does not look at the second key, and opens what has only that changed.
      let opener = (80..<160).contains(place) ? nodes[1] : nodes[0]
      #expect(throws: MessageSendingError.cannotOpen) { try MessageContents(message, with: opener) }
    }
  }

  @Test("Covers and messages have the same shape: the top bits of their X25519 keys are clear")
  func shape() throws {
    let user = try BoxSecretKey().publicKey
    for number in 0..<50 {
      let contents =
        number.isMultiple(of: 2)
        ? try MessageContents() : try MessageContents("x", tag: [1, 1, 1, 1], to: journalist.publicKey, from: user)
      let message = try contents.sealed(to: nodes[0].publicKey, nodes[1].publicKey)
      #expect(message.bytes[31] & 0x80 == 0)
      #expect(message.bytes[111] & 0x80 == 0)
    }
  }

  @Test("A public key to which nothing can be sealed is refused")
  func lowOrder() {
    for first: UInt8 in [0, 1] {
      let error = #expect(throws: MessageSendingError.self) {
        try BoxPublicKey(bytes: [first] + [UInt8](repeating: 0, count: 31))
      }
      #expect(error?.code == .invalidArgument)
    }
  }
}

@Suite("Padded texts")
struct PaddedTextTests {
  @Test("A text that just fits is read again; one character more is refused")
  func boundary() throws {
    // Hexadecimal digits of a hash hardly compress.
    var text = ""
    var number = 0
    while try PaddedText.usedByteCount(text) <= PaddedText.byteCount - 64 {
      text += QueueLayoutTests.hex(Sodium.sha256("\(number)".utf8))
      number += 1
    }
    while try PaddedText.usedByteCount(text + "ß") <= PaddedText.byteCount { text += "ß\(number)"; number += 7919 }
    while try PaddedText.usedByteCount(text) > PaddedText.byteCount { text.removeLast() }
    let bytes = try PaddedText.bytes(text)
    #expect(bytes.count == PaddedText.byteCount)
    #expect(try PaddedText.text(bytes) == text)
    let long = text + QueueLayoutTests.hex(Sodium.sha256("more".utf8))
    let error = #expect(throws: MessageSendingError.self) { try PaddedText.bytes(long) }
    #expect(error?.code == .textDoesNotFit)
  }

  @Test("A text that no reader would expand is refused by its writer", arguments: [20_000, 51_000, 51_001, 1 << 20])
  func repetition(count: Int) throws {
    let error = #expect(throws: MessageSendingError.self) {
      try PaddedText.bytes(String(repeating: "a", count: count))
    }
    #expect(error?.code == .textDoesNotFit)
  }

  @Test("A text that expands a hundred times at most goes through")
  func expansion() throws {
    let text = String(repeating: "a", count: 2000)
    #expect(try PaddedText.text(PaddedText.bytes(text)) == text)
  }

  @Test("A length beyond the bytes, an expansion above a hundred times and other streams are refused")
  func hostile() throws {
    func padded(_ length: Int, _ stream: [UInt8]) -> [UInt8] {
      [UInt8(length >> 8), UInt8(length & 0xff)] + stream + [UInt8](repeating: 7, count: 510 - stream.count)
    }
    let good = try Gzip.compress(Array("text".utf8))
    let bomb = try Gzip.compress([UInt8](repeating: 65, count: 40_000))
    let invalid = try Gzip.compress([0xff, 0xfe])
    for bytes in [
      padded(511, good), padded(0xffff, good), padded(good.count - 1, good), padded(good.count + 1, good),
      padded(0, good), padded(bomb.count, bomb), padded(invalid.count, invalid), [], [0, 0],
    ] {
      let error = #expect(throws: MessageSendingError.self) { try PaddedText.text(bytes) }
      #expect(error?.code == .cannotOpen)
    }
    #expect(try PaddedText.text(padded(good.count, good)) == "text")
  }
}
