import EdgeCoder
import Testing

@testable import EdgeCoderHTTP

@Suite("The prompt template") struct PromptTemplateTests {
  private func render(_ json: String) throws -> String {
    let body = try RequestBody<OllamaChatRequest>(Array(#"{"messages":\#(json)}"#.utf8))
    return ChatMessage.prompt(for: try MessageBody.messages(body.messages, body.json["messages"]))
  }

  @Test(
    "A conversation becomes one prompt",
    arguments: [
      (#"[{"role":"user","content":"hi"}]"#, "hi"),
      (#"[{"role":"system","content":"S"},{"role":"user","content":"hi"}]"#, "S\n\nhi"),
      (#"[{"role":"user","content":"hi"},{"role":"developer","content":"D"}]"#, "D\n\nhi"),
      (#"[{"role":"system","content":"S"}]"#, "S"),
      (
        #"[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]"#,
        "User: a\n\nAssistant: b\n\nUser: c\n\nAssistant:"
      ),
      (
        #"[{"role":"system","content":"S"},{"role":"user","content":"a"},{"role":"assistant","content":null},{"role":"tool","content":"t"}]"#,
        "S\n\nUser: a\n\nAssistant: \n\nTool: t\n\nAssistant:"
      ),
      (#"[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]"#, "ab"),
      (#"[{"role":"assistant","content":"b"}]"#, "Assistant: b\n\nAssistant:"),
    ])
  func rendering(messages: String, prompt: String) throws {
    #expect(try render(messages) == prompt)
  }

  @Test("An image that is none is refused") func noImage() {
    #expect(throws: APIError.self) { try render(#"[{"role":"user","content":"hi","images":["aGk="]}]"#) }
  }
}

@Suite("The text of a reply") struct ReplyTextTests {
  @Test("Pieces join to the text", arguments: [1, 2, 3, 4, 5, 100]) func piecesJoinToTheText(limit: Int) {
    let text = "aä🐟👨‍👩‍👧‍👦\r\nz"
    let pieces = ReplyText.pieces(text, limit: limit)
    #expect(pieces.joined() == text)
    #expect(pieces.allSatisfy { !$0.isEmpty })
    #expect(pieces.allSatisfy { $0.utf8.count <= limit || $0.count == 1 })
  }

  @Test("An empty text has no pieces") func nothingHasNoPieces() {
    #expect(ReplyText.pieces("").isEmpty)
  }

  @Test(
    "The text ends before the first stop sequence",
    arguments: [
      (["b"], "a"), (["c", "b"], "a"), ([""], "abc"), ([], "abc"), (["x"], "abc"), (["abc"], ""),
    ])
  func stops(stops: [String], text: String) {
    var filter = StopFilter(stops)
    #expect(filter.filter("abc") + filter.finish() == text)
  }
}
