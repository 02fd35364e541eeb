import EdgeCoder
import EdgeCoderTesting
import Foundation
import HummingbirdTesting
import Testing

@testable import EdgeCoderHTTP

@Suite("The routes of EdgeCoder clients", .timeLimit(.minutes(5))) struct EdgeCoderRoutesTests {
  @Test(
    "The status is returned for any method",
    arguments: [HTTPMethodName.get, .post, .put, .delete, .head, .options, .patch, .custom])
  func statusInAnyMethod(method: HTTPMethodName) async throws {
    var phone = PhoneStatus(id: "AA:BB", name: "Pixel", state: "ready", modelState: "ready")
    phone.pending = 1
    var status = CentralStatus(connected: true, scanning: false, modelState: "ready", phones: [phone])
    status.lastSeenMs = 1_700_000_000_123
    status.deviceName = "Pixel"
    status.deviceId = "AA:BB"
    status.batteryPct = 87
    status.rssi = -50
    let response = try await withAPI(FakeService(status: status) { _ in throw CancellationError() }) { client in
      try await client.request(method.method, "/status")
    }
    #expect(response.status == .ok)
    #expect(response.headers[.contentType] == "application/json")
    guard method != .head else { return #expect(response.text.isEmpty) }
    let json = try response.json()
    #expect(json["connected"] as? Bool == true)
    #expect(json["scanning"] as? Bool == false)
    #expect(json["modelState"] as? String == "ready")
    #expect(json["lastSeenMs"] as? Int == 1_700_000_000_123)
    #expect(json["deviceName"] as? String == "Pixel")
    #expect(json["deviceId"] as? String == "AA:BB")
    #expect(json["batteryPct"] as? Int == 87)
    #expect(json["rssi"] as? Int == -50)
    #expect((json["phones"] as? [[String: Any]])?.first?["pending"] as? Int == 1)
  }

  @Test("The status omits unknown values") func statusLeavesOutWhatIsNotKnown() async throws {
    let response = try await withAPI(
      FakeService(status: CentralStatus(connected: false, scanning: true)) { _ in throw CancellationError() }
    ) { try await $0.request(.get, "/status") }
    #expect(Set(try response.json().keys) == ["connected", "scanning", "modelState", "phones"])
  }

  /// As EdgeCoder's router sends it: no model, `stream: false`.
  @Test("A generate reply has the fields of the proxy") func generateCarriesTheProxysFields() async throws {
    let service = FakeService(output: "Hallo 🐟")
    let response = try await withAPI(service) {
      try await $0.post("/api/generate", #"{"prompt":"hi","maxTokens":64,"stream":false}"#)
    }
    let json = try response.json()
    #expect(response.status == .ok)
    #expect(json["id"] as? String == "ID-1")
    #expect(json["output"] as? String == "Hallo 🐟")
    #expect(json["response"] as? String == "Hallo 🐟")
    #expect(json["ok"] as? Bool == true)
    #expect(json["durationMs"] as? Int == 42)
    #expect(json["deviceName"] as? String == "Pixel")
    #expect(service.calls == [.init(prompt: "hi", maxTokens: 64)])
  }

  /// The proxy takes no notice of `stream`; an Ollama client needs `done`. One line serves both.
  @Test("Without stream and model the reply is one line for both families")
  func withoutStreamAndModelTheAnswerIsOneLineForBothFamilies() async throws {
    let response = try await withAPI(FakeService(output: "a\nb")) {
      try await $0.post("/api/generate", #"{"prompt":"hi"}"#)
    }
    let lines = try response.jsonLines()
    #expect(lines.count == 1)
    #expect(lines[0]["output"] as? String == "a\nb")
    #expect(lines[0]["response"] as? String == "a\nb")
    #expect(lines[0]["done"] as? Bool == true)
  }

  @Test("A phone's failure is 200, as in the proxy") func aPhonesFailureIs200AsInTheProxy() async throws {
    let response = try await withAPI(FakeService(output: "[no model loaded]", ok: false)) {
      try await $0.post("/api/generate", #"{"prompt":"hi","stream":false}"#)
    }
    #expect(response.status == .ok)
    #expect(try response.json()["ok"] as? Bool == false)
    #expect(try response.json()["output"] as? String == "[no model loaded]")
  }

  @Test("Max tokens may be left out") func maxTokensMayBeLeftOut() async throws {
    let service = FakeService(output: "x")
    _ = try await withAPI(service) { try await $0.post("/api/generate", #"{"prompt":"hi","stream":false}"#) }
    #expect(service.calls == [.init(prompt: "hi", maxTokens: nil)])
  }

  @Test(
    "Invalid input is 400 in the form of the proxy",
    arguments: [
      ("", "not valid JSON"), ("{", "not valid JSON"), ("[]", "not a JSON object"), ("{}", "`prompt` is missing"),
      (#"{"prompt":""}"#, "`prompt` is missing or empty"), (#"{"prompt":7}"#, "`prompt` is not a string"),
      (#"{"prompt":"hi","maxTokens":0}"#, "`maxTokens` is 0; allowed: 1 to 1000000"),
      (#"{"prompt":"hi","maxTokens":-5}"#, "`maxTokens` is -5; allowed: 1 to 1000000"),
      (#"{"prompt":"hi","maxTokens":1e30}"#, "number that is too large"),
      (#"{"prompt":"hi","maxTokens":"7"}"#, "`maxTokens` is not a"),
      (#"{"prompt":"hi","stream":1}"#, "`stream` is not a boolean"),
    ])
  func badInputIs400InTheProxysShape(body: String, message: String) async throws {
    let service = FakeService(output: "x")
    let response = try await withAPI(service) { try await $0.post("/api/generate", body) }
    let json = try response.json()
    #expect(response.status == .badRequest)
    #expect(json["ok"] as? Bool == false)
    #expect((json["error"] as? String)?.contains(message) == true, "\(json)")
    #expect(json["output"] as? String == "")
    #expect(json["response"] as? String == "")
    #expect(service.calls.isEmpty)
  }

  @Test("The root page names the server") func theRootSaysWhoIsThere() async throws {
    let response = try await withAPI(FakeService(output: "x")) { try await $0.request(.get, "/") }
    #expect(response.text == "EdgeBlue central is running\n")
  }
}
