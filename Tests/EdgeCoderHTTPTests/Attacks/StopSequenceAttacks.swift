import EdgeCoderTesting
import Foundation
import HummingbirdTesting
import Testing

@testable import EdgeCoderHTTP

/// Clients whose stop sequences would cost more than their prompts.
@Suite("Costly stop sequences", .timeLimit(.minutes(5))) struct StopSequenceAttacks {
  @Test(
    "Too many and too long stop sequences are refused",
    arguments: ["/api/generate", "/api/chat", "/v1/chat/completions", "/v1/completions"])
  func tooManySequencesAreRefused(path: String) async throws {
    let many = (0..<10_000).map { "\"stop\($0)\"" }.joined(separator: ",")
    let long = "\"\(String(repeating: "x", count: 1025))\""
    for stop in [many, long] {
      let body = """
        {"model":"edgecoder","prompt":"hi","messages":[{"role":"user","content":"hi"}],
         "stop":[\(stop)],"options":{"stop":[\(stop)]}}
        """
      try await withAPI(FakeService(output: "hi")) { client in
        let answer = try await client.post(path, body)
        #expect(answer.status.code == 400)
        #expect(String(buffer: answer.body).contains("stop"))
      }
    }
  }

  @Test("Sixteen sequences of 1 KiB take one pass over the longest reply") func theWorstCaseIsOnePass() {
    // Each byte matches the beginning of every sequence, so a naive search would start over at each.
    let stops = (0..<16).map { String(repeating: "a", count: 1008 + $0) + "b" }
    let text = String(repeating: "a", count: 256 << 10)
    var filter = StopFilter(stops)
    #expect(filter.filter(text) + filter.finish() == text)
  }
}
