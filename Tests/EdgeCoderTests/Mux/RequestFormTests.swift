import JSONValues
import Testing

@testable import EdgeCoder

@Suite("The form of a request on a v2 mux") struct RequestFormTests {
  private static func json(_ text: String) -> JSONValue {
    do {
      return try JSONValue(parsing: Array(text.utf8))
    } catch {
      Issue.record("\(error)")
      return .null
    }
  }

  /// A request that has every field.
  static var full: InferenceRequest {
    var call = ChatMessage(.assistant, "")
    call.toolCalls = [ToolCall(id: "call_1", name: "weather", arguments: #"{"city":"Zürich"}"#)]
    var result = ChatMessage(.tool, "rain")
    result.toolCallID = "call_1"
    result.toolName = "weather"
    var question = ChatMessage(.user, "Weather?")
    question.images = [ChatImageTests.png, ChatImageTests.gif(at: 7)]
    var request = InferenceRequest(
      messages: [ChatMessage(.system, "Be brief."), question, call, result], maxTokens: 9)
    request.details.options.temperature = 0.25
    request.details.options.topP = 0.5
    request.details.options.minP = 0.1
    request.details.options.typicalP = 0.9
    request.details.options.repeatPenalty = 1.1
    request.details.options.presencePenalty = -1
    request.details.options.frequencyPenalty = 2
    request.details.options.topK = 40
    request.details.options.repeatLastN = 64
    request.details.options.seed = -7
    request.details.options.contextLength = 8192
    request.details.options.stop = ["\n", "END"]
    request.details.format = .schema(
      json(#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}"#), isStrict: true)
    request.details.tools = [json(#"{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}"#)]
    request.details.toolChoice = .tool("weather")
    request.details.thinking = .low
    return request
  }

  @Test("Every field comes back") func everyFieldComesBack() throws {
    let request = Self.full
    #expect(try RequestForm.decode(RequestForm.encoded(request), maxTokens: 9) == request)
    #expect(request.details.fields == Set(RequestField.allCases).subtracting([.format]))
    var other = InferenceRequest(prompt: "a")
    other.details.format = .json
    for choice in [RequestDetails.ToolChoice.auto, .none, .required] {
      other.details.toolChoice = choice
      #expect(try RequestForm.decode(RequestForm.encoded(other), maxTokens: nil) == other)
    }
  }

  @Test("A form is written as documented") func aFormIsWrittenAsDocumented() {
    var request = InferenceRequest(prompt: "hi")
    request.details.options.seed = 7
    #expect(
      String(decoding: RequestForm.encoded(request), as: UTF8.self)
        == #"{"version":1,"prompt":"hi","options":{"seed":7}}"#)
  }

  @Test("Pictures are written beside the messages, where phones of before refuse them") func picturesAreWritten() {
    var message = ChatMessage(.user, "a")
    message.images = [ChatImageTests.png]
    #expect(
      String(decoding: RequestForm.encoded(InferenceRequest(messages: [message])), as: UTF8.self)
        == #"{"version":1,"messages":[{"role":"user","content":"a"}],"images":[{"message":0,"data":"iVBORw0KGgo="}]}"#)
  }

  @Test(
    "What is not understood is refused by its name",
    arguments: [
      ("7", "form"), ("{", "form"), ("{}", "version"), (#"{"version":2,"prompt":"a"}"#, "version"),
      (#"{"version":1}"#, "prompt"), (#"{"version":1,"prompt":"a","audio":[]}"#, "audio"),
      (#"{"version":1,"prompt":"a","images":[{"message":0,"data":"iVBORw0KGgo="}]}"#, "images"),
      (#"{"version":1,"messages":[{"role":"user","content":""}],"images":7}"#, "images"),
      (#"{"version":1,"messages":[{"role":"user","content":""}],"images":[{"data":"iVBORw0KGgo="}]}"#, "images"),
      (#"{"version":1,"messages":[{"role":"user","content":""}],"images":[{"message":-1,"data":""}]}"#, "images"),
      (#"{"version":1,"messages":[{"role":"user","content":""}],"images":[{"message":0,"data":"aGk="}]}"#, "images"),
      (#"{"version":1,"messages":[{"role":"user","content":""}],"images":[{"message":0,"data":"?"}]}"#, "images"),
      (#"{"version":1,"prompt":"a","options":{"mirostat":1}}"#, "mirostat"),
      (#"{"version":1,"prompt":"a","options":{"tools":1}}"#, "tools"),
      (#"{"version":1,"prompt":"a","options":[]}"#, "options"),
      (#"{"version":1,"prompt":"a","options":{"temperature":"hot"}}"#, "temperature"),
      (#"{"version":1,"prompt":"a","options":{"seed":1.5}}"#, "seed"),
      (#"{"version":1,"prompt":"a","options":{"stop":[1]}}"#, "stop"),
      (#"{"version":1,"messages":[]}"#, "messages"),
      (#"{"version":1,"messages":[{"role":"king","content":""}]}"#, "messages"),
      (#"{"version":1,"messages":[{"role":"user"}]}"#, "messages"),
      (#"{"version":1,"messages":[{"role":"assistant","content":"","toolCalls":[{}]}]}"#, "toolCalls"),
      (#"{"version":1,"prompt":"a","format":"xml"}"#, "format"), (#"{"version":1,"prompt":"a","tools":[1]}"#, "tools"),
      (#"{"version":1,"prompt":"a","toolChoice":"any"}"#, "toolChoice"),
    ])
  func whatIsNotUnderstood(form: String, field: String) {
    let error = #expect(throws: InvalidRequest.self) { try RequestForm.decode(Array(form.utf8), maxTokens: nil) }
    #expect(error?.field == field)
  }

  @Test("One message of a user, and a choice of no tool, are a prompt alone") func whatIsAPromptAlone() {
    var request = InferenceRequest(messages: [ChatMessage(.user, "hi")])
    request.details.tools = [.object([])]
    request.details.toolChoice = .none
    #expect(request.details.fields.isEmpty)
    #expect(request.prompt == "hi")
  }

  @Test("Parts are found however they are cut", arguments: 1...7) func partsAreFound(size: Int) {
    let parts: [ReplyPart] = [
      .ignored([.seed, .contextLength]), .text("é\n"), .text("\"🐟"),
      .toolCall(ToolCall(id: "1", name: "f", arguments: #"{"a":1}"#)),
    ]
    let bytes = parts.flatMap(\.line)
    var reader = ReplyPartReader()
    var found: [ReplyPart] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      found += reader.read(Array(bytes[start..<min(start + size, bytes.count)])) ?? []
    }
    #expect(found == parts)
    #expect(reader.unread == 0)
  }

  @Test(
    "Lines of later versions are read as far as they are understood",
    arguments: [
      ("{\"mood\":\"x\"}", [ReplyPart]()), ("{\"ignored\":[\"x\",\"seed\"],\"y\":1}", [.ignored([.seed])]),
    ])
  func laterVersions(line: String, parts: [ReplyPart]) {
    #expect(ReplyPart.parts(ofLine: Array(line.utf8)) == parts)
  }

  @Test(
    "Lines that are not valid are refused",
    arguments: ["", "[]", "{\"text\":1}", "{\"toolCall\":{}}", "{\"ignored\":1}", "x"])
  func linesThatAreNotValid(line: String) {
    var reader = ReplyPartReader()
    #expect(reader.read(Array("\(line)\n".utf8)) == nil)
  }
}
