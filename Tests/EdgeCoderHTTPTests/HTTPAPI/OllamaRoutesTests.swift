import EdgeCoder
import EdgeCoderTesting
import Foundation
import HummingbirdTesting
import Testing

@testable import EdgeCoderHTTP

@Suite("The routes of Ollama clients", .timeLimit(.minutes(5))) struct OllamaRoutesTests {
  private static let countKeys: Set<String> = [
    "load_duration", "prompt_eval_count", "prompt_eval_duration", "eval_count", "eval_duration",
  ]
  private static let finalKeys: Set<String> = ["model", "created_at", "done", "done_reason", "total_duration"]

  @Test("A generate reply is streamed by default", arguments: ["", #","stream":true"#])
  func generateStreamsUnlessToldNotTo(stream: String) async throws {
    let text = String(repeating: "Fisch 🐟 ", count: 1500)
    let response = try await withAPI(FakeService(output: text)) { [text] client in
      _ = text
      return try await client.post("/api/generate", #"{"model":"edgecoder","prompt":"hi"\#(stream)}"#)
    }
    let lines = try response.jsonLines()
    let last = try #require(lines.last)
    #expect(response.headers[.contentType] == "application/x-ndjson")
    #expect(lines.count == 6)
    #expect(lines.dropLast().allSatisfy { $0["done"] as? Bool == false })
    #expect(lines.dropLast().allSatisfy { $0["model"] as? String == "edgecoder" })
    #expect(lines.compactMap { $0["response"] as? String }.joined() == text)
    #expect(last["done"] as? Bool == true)
    #expect(last["done_reason"] as? String == "stop")
    #expect(Set(last.keys).isSuperset(of: Self.finalKeys.union(["response"])))
    #expect(Set(last.keys).isDisjoint(with: Self.countKeys))
  }

  @Test("A generate reply is one object without streaming") func generateWholeWhenToldNotToStream() async throws {
    let response = try await withAPI(FakeService(output: "ja")) {
      try await $0.post("/api/generate", #"{"model":"edgecoder:latest","prompt":"hi","stream":false}"#)
    }
    let json = try response.json()
    #expect(json["model"] as? String == "edgecoder:latest")
    #expect(json["response"] as? String == "ja")
    #expect(Set(json.keys).isSuperset(of: Self.finalKeys))
  }

  @Test("Times are RFC 3339") func timesAreRFC3339() async throws {
    let response = try await withAPI(FakeService(output: "ja")) {
      try await $0.post("/api/generate", #"{"model":"edgecoder","prompt":"hi","stream":false}"#)
    }
    let time = try #require(try response.json()["created_at"] as? String)
    let date = try Date(time, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    #expect(abs(date.timeIntervalSinceNow) < 60)
  }

  @Test("Options reach the phone or the text") func optionsReachThePhoneOrTheText() async throws {
    let service = FakeService(output: "eins zwei drei")
    let response = try await withAPI(service) {
      try await $0.post(
        "/api/generate",
        """
        {"model":"edgecoder","prompt":"hi","system":"Sei kurz.","stream":false,
         "options":{"num_predict":7,"temperature":0.1,"stop":["drei"," zwei"]}}
        """)
    }
    #expect(service.calls == [.init(prompt: "Sei kurz.\n\nhi", maxTokens: 7)])
    #expect(try response.json()["response"] as? String == "eins")
  }

  @Test("No limit selects the default of the phone", arguments: [-2, -1, 0]) func noLimitLeavesThePhonesDefault(
    limit: Int
  ) async throws {
    let service = FakeService(output: "x")
    _ = try await withAPI(service) {
      try await $0.post("/api/generate", #"{"model":"edgecoder","prompt":"hi","options":{"num_predict":\#(limit)}}"#)
    }
    #expect(service.calls == [.init(prompt: "hi", maxTokens: nil)])
  }

  @Test(
    "An empty prompt loads the model",
    arguments: [("", "load"), (#","prompt":"""#, "load"), (#","keep_alive":0"#, "unload")])
  func anEmptyPromptLoadsTheModel(rest: String, reason: String) async throws {
    let service = FakeService(output: "x")
    let response = try await withAPI(service) {
      try await $0.post("/api/generate", #"{"model":"edgecoder"\#(rest)}"#)
    }
    #expect(try response.json()["done_reason"] as? String == reason)
    #expect(try response.json()["done"] as? Bool == true)
    #expect(service.calls.isEmpty)
  }

  @Test(
    "Unsupported features are refused",
    arguments: [
      #""suffix":"x""#, #""logprobs":true"#, #""raw":true"#, #""template":"{{ .Prompt }}""#, #""context":[1,2]"#,
    ])
  func whatAPhoneCannotDoIsRefused(field: String) async throws {
    let response = try await withAPI(FakeService(output: "x")) {
      try await $0.post("/api/generate", #"{"model":"edgecoder","prompt":"hi",\#(field)}"#)
    }
    #expect(response.status == .badRequest)
    #expect(try response.errorText()?.contains("edgecoder does not support ") == true)
  }

  @Test(
    "Empty fields of unsupported features are accepted",
    arguments: [
      #""images":[]"#, #""images":null"#, #""format":"""#, #""think":false"#, #""suffix":"""#, #""raw":false"#,
      #""template":"""#, #""context":[]"#,
    ])
  func whatAsksForNothingIsNot(field: String) async throws {
    let response = try await withAPI(FakeService(output: "x")) {
      try await $0.post("/api/generate", #"{"model":"edgecoder","prompt":"hi",\#(field)}"#)
    }
    #expect(response.status == .ok)
  }

  @Test(
    "Refusals have the words after which clients go on without",
    arguments: [
      (#""suffix":"x""#, "does not support insert"), (#""raw":true"#, "does not support raw prompts"),
    ])
  func theWordsOfRefusals(field: String, words: String) async throws {
    let response = try await withAPI(FakeService(output: "x")) {
      try await $0.post("/api/chat", #"{"model":"edgecoder","messages":[{"role":"user","content":"hi"}],\#(field)}"#)
    }
    #expect(response.status == .badRequest)
    #expect(try response.errorText()?.contains(words) == true)
  }

  @Test(
    "An image that is none is refused with its place",
    arguments: [
      (#""images":7"#, "`images` is not a list"), (#""images":["aGk="]"#, "`images[0]` is not a PNG"),
      (#""images":["iVBORw0KGgo=",7]"#, "`images[1]` is not a PNG"),
    ])
  func imagesThatAreNone(field: String, words: String) async throws {
    let response = try await withAPI(FakeService(output: "x")) {
      try await $0.post("/api/generate", #"{"model":"edgecoder","prompt":"hi",\#(field)}"#)
    }
    #expect(response.status == .badRequest)
    #expect(try response.errorText()?.contains(words) == true)
  }

  @Test("A chat reply is streamed") func chatStreams() async throws {
    let service = FakeService(output: "Guten Tag")
    let response = try await withAPI(service) {
      try await $0.post(
        "/api/chat",
        #"{"model":"edgecoder","messages":[{"role":"system","content":"Sei höflich."},{"role":"user","content":"hi"}]}"#
      )
    }
    let lines = try response.jsonLines()
    let messages = lines.compactMap { $0["message"] as? [String: String] }
    #expect(messages == [["role": "assistant", "content": "Guten Tag"], ["role": "assistant", "content": ""]])
    #expect(Set(try #require(lines.last).keys) == Self.finalKeys.union(["message"]))
    #expect(service.calls == [.init(prompt: "Sei höflich.\n\nhi", maxTokens: nil)])
  }

  /// As EdgeCoder's `routeChat` sends it, which the proxy never answered.
  @Test("A chat request without a model is served") func chatWithoutAModel() async throws {
    let service = FakeService(output: "ja")
    let response = try await withAPI(service) {
      try await $0.post("/api/chat", #"{"messages":[{"role":"user","content":"hi"}],"maxTokens":9,"stream":false}"#)
    }
    #expect((try response.json()["message"] as? [String: String])?["content"] == "ja")
    #expect(service.calls == [.init(prompt: "hi", maxTokens: 9)])
  }

  @Test("A phone's failure is 502") func aPhonesFailureIs502() async throws {
    for (path, body) in [
      ("/api/generate", #"{"model":"edgecoder","prompt":"hi"}"#),
      ("/api/chat", #"{"model":"edgecoder","messages":[{"role":"user","content":"hi"}]}"#),
    ] {
      let response = try await withAPI(FakeService(output: "[out of memory]", ok: false)) {
        try await $0.post(path, body)
      }
      #expect(response.status == .badGateway)
      #expect(try response.errorText() == "the phone could not answer: out of memory")
    }
  }

  @Test("A failure without a reason says so", arguments: ["", "[]"])
  func aPhonesFailureWithoutAReason(output: String) async throws {
    let response = try await withAPI(FakeService(output: output, ok: false)) {
      try await $0.post("/api/generate", #"{"model":"edgecoder","prompt":"hi"}"#)
    }
    #expect(try response.errorText() == "the phone could not answer: no reason given")
  }

  @Test("Another model is not found", arguments: ["/api/generate", "/api/chat", "/api/show"])
  func anotherModelIsNotFound(path: String) async throws {
    let service = FakeService(output: "x")
    let response = try await withAPI(service) {
      try await $0.post(path, #"{"model":"llama3","prompt":"hi","messages":[{"role":"user","content":"hi"}]}"#)
    }
    #expect(response.status == .notFound)
    #expect(try response.errorText() == "model 'llama3' not found; the phones answer as 'edgecoder'")
    #expect(service.calls.isEmpty)
  }

  @Test("The lists contain the one model") func listsOfModels() async throws {
    let connected = FakeService(output: "x")
    let alone = FakeService(status: CentralStatus(connected: false, scanning: true)) { _ in throw CancellationError() }
    func names(_ service: FakeService, _ path: String) async throws -> [String] {
      let response = try await withAPI(service) { try await $0.request(.get, path) }
      let models = try #require(try response.json()["models"] as? [[String: Any]])
      return models.compactMap { $0["name"] as? String }
    }
    #expect(try await names(connected, "/api/tags") == ["edgecoder:latest"])
    #expect(try await names(alone, "/api/tags") == ["edgecoder:latest"])
    #expect(try await names(connected, "/api/ps") == ["edgecoder:latest"])
    #expect(try await names(alone, "/api/ps") == [])
  }

  @Test("The description has the fields that clients read", arguments: ["model", "name"]) func show(key: String)
    async throws
  {
    let response = try await withAPI(FakeService(output: "x")) {
      try await $0.post("/api/show", #"{"\#(key)":"edgecoder"}"#)
    }
    let json = try response.json()
    #expect(json["capabilities"] as? [String] == ["completion"])
    #expect((json["details"] as? [String: Any])?["family"] as? String == "edgecoder")
    let info = try #require(json["model_info"] as? [String: Any])
    #expect(info["general.architecture"] as? String == "edgecoder")
    #expect(info["general.basename"] as? String == "edgecoder")
    #expect(info["edgecoder.context_length"] as? Int == 4096)
  }

  @Test("A loaded model has the fields that clients read, and one that loads is not listed")
  func whatIsLoaded() async throws {
    func models(_ status: CentralStatus) async throws -> [[String: Any]] {
      var configuration = HTTPAPI.Configuration(port: 0)
      configuration.contextLength = 2048
      let service = FakeService(status: status) { _ in throw CancellationError() }
      let response = try await withAPI(service, configuration: configuration) { try await $0.request(.get, "/api/ps") }
      return try #require(try response.json()["models"] as? [[String: Any]])
    }
    var status = CentralStatus(connected: true, scanning: false, modelState: "loading")
    #expect(try await models(status).isEmpty)
    status.modelState = "ready"
    let model = try #require(try await models(status).first)
    #expect(model["context_length"] as? Int == 2048)
    #expect(model["size_vram"] as? Int == 0)
    #expect((model["expires_at"] as? String)?.hasSuffix("Z") == true)
    var online = CentralStatus(connected: false, scanning: false)
    online.route = .network
    #expect(try await models(online).count == 1)
  }

  @Test("Pulling the model that is there succeeds", arguments: [true, false]) func pull(streams: Bool) async throws {
    try await withAPI(FakeService(output: "x")) { client in
      let response = try await client.post("/api/pull", #"{"model":"edgecoder","stream":\#(streams)}"#)
      #expect(response.status == .ok)
      #expect(try response.jsonLines().last?["status"] as? String == "success")
      #expect(try await client.post("/api/pull", #"{"model":"llama3"}"#).status == .notFound)
    }
  }

  @Test("The claimed version is returned") func version() async throws {
    let response = try await withAPI(FakeService(output: "x")) { try await $0.request(.get, "/api/version") }
    #expect(try response.json()["version"] as? String == "0.14.2")
  }
}
