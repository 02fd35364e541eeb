import Testing

@testable import EdgeCoder

@Suite("Pictures in messages") struct ChatImageTests {
  static let png = ChatImage(base64: "iVBORw0KGgo=") ?? none
  static func gif(at offset: Int) -> ChatImage { ChatImage(Array("GIF89a".utf8), offset: offset) ?? none }
  private static var none: ChatImage { preconditionFailure("the first bytes of a picture are not known") }

  @Test(
    "The first bytes name the format",
    arguments: [
      ("iVBORw0KGgoAAA==", "image/png"), ("/9j/4AAQ", "image/jpeg"), ("UklGRiQAAABXRUJQVlA4", "image/webp"),
      ("R0lGODlhAQAB", "image/gif"), ("R0lGODdhAQAB", "image/gif"),
    ])
  func formats(base64: String, mediaType: String) {
    let image = ChatImage(base64: base64)
    #expect(image?.format.mediaType == mediaType)
    #expect(image?.base64 == base64)
  }

  @Test(
    "What is no picture is none", arguments: ["", "aGk=", "iVBORw0K", "UklGRiQAAABXQVZF", "iVBORw0KGgo", "%%%%"])
  func noPicture(base64: String) {
    #expect(ChatImage(base64: base64) == nil)
  }

  private func pieces(_ text: String, _ offsets: [Int]) -> [ChatMessage.Piece] {
    var message = ChatMessage(.user, text)
    message.images = offsets.map(Self.gif)
    return message.pieces
  }

  @Test("A picture stands in its place in the text") func places() {
    #expect(pieces("ab", [0]) == [.image(Self.gif(at: 0)), .text("ab")])
    #expect(pieces("ab", [1]) == [.text("a"), .image(Self.gif(at: 1)), .text("b")])
    #expect(pieces("ab", [2, 0]) == [.image(Self.gif(at: 0)), .text("ab"), .image(Self.gif(at: 2))])
    #expect(pieces("", [0, 0]) == [.image(Self.gif(at: 0)), .image(Self.gif(at: 0))])
    #expect(pieces("ab", []) == [.text("ab")])
    #expect(pieces("", []) == [])
  }

  @Test("An offset outside of the text, or within a character, does not cut it", arguments: [-1, 2, 3, 4, 9, Int.max])
  func offsetsThatAreWrong(offset: Int) {
    let image = ChatMessage.Piece.image(Self.gif(at: offset))
    let parts: [ChatMessage.Piece] =
      switch offset {
      case ...0: [image, .text("a🐟b")]
      case 1...4: [.text("a"), image, .text("🐟b")]
      default: [.text("a🐟b"), image]
      }
    #expect(pieces("a🐟b", [offset]) == parts)
  }
}
