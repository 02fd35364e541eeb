import EdgeCoder
import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import EdgeCoderHTTP

/// The tables of `docs/api.md`: each line is sent, and what happens is compared with what it says.
@Suite("The tables of docs/api.md", .timeLimit(.minutes(5))) struct APIDocumentTests {
  struct Line: Sendable, CustomTestStringConvertible {
    let path: String
    let field: String
    let example: String
    let word: String

    var testDescription: String { "\(path) \(field) \(example)" }
  }

  /// The shortest body of each route that is answered.
  private static let bases = [
    "/api/generate": [("prompt", #""hi""#)], "/api/chat": [("messages", #"[{"role":"user","content":"hi"}]"#)],
    "/v1/chat/completions": [("messages", #"[{"role":"user","content":"hi"}]"#)],
    "/v1/completions": [("prompt", #""hi""#)], "/v1/responses": [("input", #""hi""#)],
    "/api/embed": [("input", #""hi""#)], "/api/embeddings": [("prompt", #""hi""#)],
    "/v1/embeddings": [("input", #""hi""#)],
  ]

  static let lines: [Line] = {
    let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/api.md")
    var path: String?
    var lines: [Line] = []
    // A page that cannot be read has no lines, which ``allRoutes()`` notices.
    for line in (try? String(contentsOf: page, encoding: .utf8))?.split(separator: "\n") ?? [] {
      if line.hasPrefix("## ") { path = line.hasPrefix("## POST ") ? String(line.dropFirst(8)) : nil }
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard let path, cells.count == 3, cells[0].hasPrefix("`") else { continue }
      let code = CharacterSet(charactersIn: "`")
      lines.append(
        Line(
          path: path, field: cells[0].trimmingCharacters(in: code), example: cells[1].trimmingCharacters(in: code),
          word: cells[2]))
    }
    return lines
  }()

  @Test("There is a table for each route") func allRoutes() {
    #expect(Set(Self.lines.map(\.path)) == Set(Self.bases.keys))
    #expect(Self.lines.count > 80)
  }

  /// Sends the base of a route, with a field more or without.
  private func ask(_ path: String, _ added: (String, String)?) async throws -> (TestResponse, AnyHashable?) {
    let service = FakeService(output: "text")
    var members = (Self.bases[path] ?? []).filter { $0.0 != added?.0 }
    if path.hasPrefix("/api"), !path.contains("embed"), added?.0 != "stream" { members.append(("stream", "false")) }
    if let added { members.append(added) }
    let body = "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    let response = try await withAPI(service) { try await $0.post(path, body) }
    let embedding: EmbeddingRequest? = service.embeddingRequests.first
    return (response, service.requests.first.map { AnyHashable($0) } ?? embedding.map { AnyHashable($0) })
  }

  @Test("What happens is what the line says", arguments: lines) func itHappens(line: Line) async throws {
    let (before, plain) = try await ask(line.path, nil)
    let (response, request) = try await ask(line.path, (line.field, line.example))
    let ignored = response.headers[.ignored]
    switch line.word {
    case "refused":
      #expect(response.status == .badRequest)
      #expect(request == nil)
    case "named":
      #expect(response.status == .ok)
      // Of options the member is named.
      let names = try jsonObject("{\"\(line.field)\":\(line.example)}".utf8)
      let members =
        line.field == "options" ? (names["options"] as? [String: Any]).map { Array($0.keys) } ?? [] : [line.field]
      #expect(ignored == members.joined(separator: ", "))
      #expect(request == plain)
    case "accepted":
      #expect(response.status == .ok)
      #expect(ignored == nil)
      #expect(request == plain)
    case "used":
      #expect(response.status == .ok, "\(response.text)")
      #expect(ignored == nil)
      // Other replies have a time in them.
      let isOther = line.path == "/v1/embeddings" && response.text != before.text
      #expect(request != plain || isOther || response.headers[.contentType] != before.headers[.contentType])
    default: Issue.record("\(line.word) is no word of the page")
    }
  }
}
