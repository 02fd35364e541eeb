import EdgeCoderTesting
import Foundation
import HummingbirdTesting
import Testing

@testable import EdgeCoderHTTP

@Suite("Characters that some clients take for the end of a line", .timeLimit(.minutes(5))) struct LineEndTests {
  private static let text = "a\u{85}b\u{2028}c\u{2029}d\u{2027}é🐟\"\\\n"
  private static let requests = [
    ("/api/generate", #"{"model":"edgecoder","prompt":"hi""#), ("/api/generate", #"{"prompt":"hi""#),
    ("/api/chat", #"{"model":"edgecoder","messages":[{"role":"user","content":"hi"}]"#),
    ("/v1/chat/completions", #"{"model":"edgecoder","messages":[{"role":"user","content":"hi"}]"#),
    ("/v1/completions", #"{"model":"edgecoder","prompt":"hi""#),
  ]

  @Test("They are escaped in whole and streamed replies, and nothing else changes", arguments: [false, true])
  func theyAreEscaped(streams: Bool) async throws {
    try await withAPI(FakeService(output: Self.text)) { client in
      for (path, body) in Self.requests {
        let response = try await client.post(path, body + #","stream":\#(streams)}"#)
        #expect(!response.text.unicodeScalars.contains { ["\u{85}", "\u{2028}", "\u{2029}"].contains($0) })
        #expect(response.text.contains(#"a\u0085b\u2028c\u2029d"#), "\(path)")
        let lines = response.text.split(separator: "\n").map { $0.trimmingPrefix("data: ") }
        let texts = try lines.filter { $0 != "[DONE]" }.map { try Self.content(try jsonObject($0.utf8)) }
        #expect(texts.joined() == Self.text, "\(path)")
      }
    }
  }

  @Test("They are escaped in errors") func theyAreEscapedInErrors() async throws {
    let response = try await withAPI(FakeService(output: "[a\u{2028}b]", ok: false)) {
      try await $0.post("/api/generate", #"{"prompt":"hi"}"#)
    }
    #expect(response.text.contains(#"a\u2028b"#))
    #expect(try response.json()["output"] as? String == "[a\u{2028}b]")
  }

  /// The text of one object of any family.
  private static func content(_ object: [String: Any]) throws -> String {
    if let response = object["response"] as? String { return response }
    let choice = (object["choices"] as? [[String: Any]])?.first
    let message = (object["message"] ?? choice?["message"] ?? choice?["delta"]) as? [String: Any]
    return message?["content"] as? String ?? choice?["text"] as? String ?? ""
  }
}
