import EdgeCoder
import EdgeCoderTesting
import Foundation
import HummingbirdTesting
import SystemTesting
import Testing

@testable import EdgeCoderHTTP

@Suite("Why a reply ends, and what it took, as clients read it", .timeLimit(.minutes(5))) struct CompletionTests {
  private static let chat = #""messages":[{"role":"user","content":"hi"}]"#

  private static let ollama = [
    ("/api/generate", #"{"model":"edgecoder","prompt":"hi""#), ("/api/generate", #"{"prompt":"hi""#),
    ("/api/chat", "{\(chat)"),
  ]
  private static let openAI = [
    ("/v1/chat/completions", "{\(chat)"), ("/v1/completions", #"{"prompt":"hi""#),
  ]

  @Test("Ollama clients read the end of the engine", arguments: [false, true]) func ollama(streams: Bool) async throws {
    try await withAPI(FakeService(output: "text", .counted)) { client in
      for (path, body) in Self.ollama {
        let last = try #require(try await client.post(path, body + #","stream":\#(streams)}"#).jsonLines().last)
        #expect(last["done_reason"] as? String == "length", "\(path)")
        #expect(last["prompt_eval_count"] as? Int == 3)
        #expect(last["eval_count"] as? Int == 5)
        #expect(last["load_duration"] as? Int == 11)
        #expect(last["prompt_eval_duration"] as? Int == 12)
        #expect(last["eval_duration"] as? Int == 13)
      }
    }
  }

  @Test("OpenAI clients read the end of the engine", arguments: [false, true]) func openAI(streams: Bool) async throws {
    try await withAPI(FakeService(output: "text", .counted)) { client in
      for (path, body) in Self.openAI {
        let options = streams ? #","stream":true,"stream_options":{"include_usage":true}}"# : "}"
        let response = try await client.post(path, body + options)
        let objects =
          streams ? try response.events().dropLast().map { try jsonObject($0.utf8) } : [try response.json()]
        let reasons = objects.compactMap {
          ($0["choices"] as? [[String: Any]])?.first?["finish_reason"] as? String
        }
        #expect(reasons == ["length"], "\(path)")
        let usage = objects.last?["usage"] as? [String: Int]
        #expect(usage == ["prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8])
      }
    }
  }

  @Test("What is not known is left out") func whatIsNotKnownIsLeftOut() async throws {
    try await withAPI(FakeService(output: "text")) { client in
      for (path, body) in Self.ollama {
        let last = try await client.post(path, body + #","stream":false}"#).json()
        #expect(last["done_reason"] as? String == "stop")
        for key in ["eval_count", "prompt_eval_count", "eval_duration", "prompt_eval_duration", "load_duration"] {
          #expect(last[key] == nil, "\(path) \(key)")
        }
      }
      for (path, body) in Self.openAI {
        #expect(try await client.post(path, body + "}").json()["usage"] == nil)
        let streamed = try await client.post(path, body + #","stream":true,"stream_options":{"include_usage":true}}"#)
        #expect(!streamed.text.contains("usage"))
      }
    }
  }

  @Test("No part of a time is longer than the whole") func noPartIsLongerThanTheWhole() async throws {
    var completion = Completion(.stop)
    completion.loadTime = .seconds(100)
    completion.promptTime = .seconds(1000)
    completion.replyTime = .seconds(1 << 60)
    let response = try await withAPI(FakeService(output: "text", completion)) {
      try await $0.post("/api/generate", #"{"prompt":"hi"}"#)
    }
    let json = try response.json()
    let total = try #require(json["total_duration"] as? Int)
    for key in ["eval_duration", "prompt_eval_duration", "load_duration"] { #expect(json[key] as? Int == total) }
  }

  /// The bodies with a stop sequence, without a stream.
  private static let stopping = [
    ("/api/generate", #"{"model":"edgecoder","prompt":"hi","stream":false,"options":{"stop":[" three"]}}"#, "response"),
    ("/api/generate", #"{"prompt":"hi","options":{"stop":[" three"]}}"#, "response"),
    ("/api/chat", #"{\#(chat),"stream":false,"options":{"stop":[" three"]}}"#, "content"),
    ("/v1/chat/completions", #"{\#(chat),"stop":" three"}"#, "content"),
    ("/v1/completions", #"{"prompt":"hi","stop":" three"}"#, "text"),
  ]

  @Test("A stop sequence ends the generation, also without a stream", arguments: stopping)
  func aStopSequenceEndsTheGeneration(case: (path: String, body: String, key: String)) async throws {
    let engine = GatedEngine()
    let service = RoutedInference(
      phones: FakeService(output: "by radio"), engine: engine, preference: .network, network: AlwaysOnline())
    let (path, body, key) = `case`
    try await withAPI(service) { client in
      async let response = client.post(path, body)
      let asked = try await engine.next()
      // The engine never ends by itself.
      for piece in ["one two", " thr", "ee four"] { asked.say(piece) }
      let received = try await response
      #expect(received.text.contains(#""\#(key)":"one two""#))
      #expect(received.text.contains(#"_reason":"stop""#))
      try await eventually { engine.cancelled == 1 }
    }
  }
}

/// A network that is never lost.
private struct AlwaysOnline: NetworkAvailability {
  var isAvailable: Bool { true }
  func waitUntilLost() async {
    do { try await untilCancelled() } catch {}
  }
}
