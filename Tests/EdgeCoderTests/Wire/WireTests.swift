import EdgeCoderTesting
import Foundation
import Testing

@testable import EdgeCoder

@Suite("The wire format") struct WireTests {
  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  // MARK: Encoding

  @Test("The JSON has the fields of the protocol") func writesTheFieldsOfTheProtocol() {
    #expect(text(Wire.Request(id: "A", prompt: "p").encoded()) == #"{"id":"A","prompt":"p"}"#)
    #expect(
      text(Wire.Request(id: "A", prompt: "p", maxTokens: 9).encoded()) == #"{"id":"A","maxTokens":9,"prompt":"p"}"#)
    #expect(
      text(Wire.Response(id: "A", output: "o", ok: true, durationMs: 12).encoded())
        == #"{"id":"A","ok":true,"durationMs":12,"output":"o"}"#)
    #expect(
      text(Wire.Status(modelState: .ready, batteryPct: 87).encoded()) == #"{"modelState":"ready","batteryPct":87}"#)
    #expect(text(Wire.Status(modelState: .notInstalled).encoded()) == #"{"modelState":"notInstalled"}"#)
  }

  @Test("The longest status fits an MTU of 49") func theLongestStatusFitsAnMTUOf49() {
    let longest = ModelState.allCases.map { Wire.Status(modelState: $0, batteryPct: 100).encoded().count }.max()
    #expect(longest == 46)
  }

  @Test("Foundation reads every character back") func foundationReadsEveryCharacterBack() throws {
    let output =
      String(String.UnicodeScalarView((0...0x2ff).compactMap { Unicode.Scalar($0) })) + "€😀\u{2028}\u{10ffff}"
    // A refusal has brackets around its reason.
    let bracketed = "[\(output)]"
    let encoded = Wire.Response(id: output, output: bracketed, ok: false, durationMs: -3).encoded()
    let object = try JSONSerialization.jsonObject(with: Data(encoded)) as? [String: Any]
    #expect(object?["output"] as? String == bracketed)
    #expect(object?["id"] as? String == output)
    #expect(object?["ok"] as? Bool == false)
    let written = bytes(text(encoded).components(separatedBy: ",\"output\":")[1]).count - 1
    #expect(JSONObjectWriter.encodedLength(of: bracketed) + 2 == written)
  }

  @Test("A refusal without a reason has no brackets either", arguments: ["", "[]"])
  func aRefusalWithoutAReason(output: String) throws {
    let response = try Wire.Response.decode(bytes(#"{"id":"x","output":"\#(output)","ok":false,"durationMs":0}"#))
    #expect(response.answer == .refusal(.init(.failed, "")))
    #expect(response.answer.output == "")
  }

  @Test("Of a reason without brackets, as other phones send it, the reason is kept and JSON has brackets")
  func aReasonWithoutBrackets() throws {
    let response = try Wire.Response.decode(bytes(#"{"id":"x","output":"no model","ok":false,"durationMs":0}"#))
    #expect(response.answer == .refusal(.init(.noModel, "no model")))
    #expect(response.answer.output == "[no model]")
  }

  // MARK: Requests

  @Test("A request is decoded from JSON") func readsARequest() throws {
    let request = try Wire.Request.decode(bytes(#" {"prompt":"\u00e4\n","maxTokens":12,"id":"x","other":[1,{}]}"#))
    #expect(request == Wire.Request(id: "x", prompt: "ä\n", maxTokens: 12))
  }

  @Test(
    "A malformed maxTokens counts as absent",
    arguments: [
      (#""12""#, nil), ("null", nil), ("12.0", 12), ("12.5", nil), ("1e400", nil), ("99999999999999999999", nil),
      ("true", nil), ("-5", -5), ("[]", nil),
    ] as [(String, Int?)])
  func aStrangeMaxTokensReadsAsAbsent(json: String, expected: Int?) throws {
    let request = try Wire.Request.decode(bytes(#"{"id":"x","prompt":"p","maxTokens":\#(json)}"#))
    #expect(request.maxTokens == expected)
  }

  @Test(
    "A malformed request keeps the ID when it can be read",
    arguments: [
      (#"{"id":"x"}"#, "x"), (#"{"id":"x","prompt":5}"#, "x"), (#"{"prompt":"p"}"#, nil),
      (#"{"id":5,"prompt":"p"}"#, nil),
      (#"{"id":"","prompt":"p"}"#, nil), (#"{"id":null,"prompt":"p"}"#, nil), (#"{}"#, nil),
      (#"{"id":"x" "prompt":"p"}"#, nil),
      (#"{"id":"x","prompt":"\ud800"}"#, "x"), ("[]", nil), ("", nil),
    ] as [(String, String?)])
  func aMalformedRequestKeepsTheIDWhenItCanBeRead(json: String, id: String?) {
    let error = #expect(throws: Wire.Malformed.self) { try Wire.Request.decode(bytes(json)) }
    #expect(error?.id == id)
  }

  @Test("An ID over the limit gets no reply") func anIDOverTheLimitIsNotAnsweredWith() {
    let long = String(repeating: "i", count: Wire.idLimit + 1)
    let error = #expect(throws: Wire.Malformed.self) { try Wire.Request.decode(bytes(#"{"id":"\#(long)"}"#)) }
    #expect(error?.id == nil)
  }

  @Test("Invalid UTF 8 is malformed") func invalidUTF8IsMalformed() {
    #expect(throws: Wire.Malformed.self) {
      try Wire.Request.decode(bytes(#"{"id":"x","prompt":""#) + [0xff, 0xfe] + bytes(#""}"#))
    }
  }

  @Test("Deeply nested JSON is malformed and harmless") func aBottomlessNestIsMalformedAndHarmless() {
    let deep = #"{"id":"x","prompt":"p","z":"# + String(repeating: "[", count: 100_000)
    #expect(throws: Wire.Malformed.self) { try Wire.Request.decode(bytes(deep)) }
    let objects = String(repeating: #"{"a":"#, count: 40_000) + "1" + String(repeating: "}", count: 40_000)
    #expect(throws: Wire.Malformed.self) { try Wire.Request.decode(bytes(objects)) }
  }

  @Test(
    "The ID is recovered from the beginning",
    arguments: [
      (#"{"id":"x","prompt":"abc"#, "x"), (#"{"maxTokens":5, "id" : "x" , "prompt":"abc"#, "x"),
      (#"{"a":{"id":"no","b":1},"id":"x","#, "x"), (#"{"prompt":"\",\"id\":\"no\",","id":"x","p"#, "x"),
      (#"{"id":"x"#, nil), (#"{"id":"x""#, nil), (#"{"prompt":"abc"#, nil), (#"{"id":5,"a":1"#, nil), ("{,,", nil),
      ("", nil),
    ] as [(String, String?)])
  func theIDIsRecoveredFromTheBeginning(head: String, id: String?) {
    #expect(Wire.recoverID(fromHead: bytes(head)) == id)
  }

  // MARK: Replies and status

  @Test("A reply needs only its ID") func aReplyNeedsOnlyItsID() throws {
    #expect(
      try Wire.Response.decode(bytes(#"{"id":"x"}"#)) == Wire.Response(id: "x", output: "", ok: false, durationMs: 0))
    #expect(
      try Wire.Response.decode(bytes(#"{"id":"x","output":"o","ok":true,"durationMs":-4}"#))
        == Wire.Response(id: "x", output: "o", ok: true, durationMs: 0))
    #expect(throws: Wire.Malformed.self) { try Wire.Response.decode(bytes(#"{"output":"o"}"#)) }
  }

  @Test("A reply whose output cannot be read is damaged and not empty")
  func aReplyWhoseOutputCannotBeReadIsDamagedAndNotEmpty() {
    // Chunks out of order cut characters apart.
    let damaged = bytes(#"{"id":"x","ok":true,"output":""#) + [0x98, 0x80, 0xf0, 0x9f] + bytes(#""}"#)
    let error = #expect(throws: Wire.Malformed.self) { try Wire.Response.decode(damaged) }
    #expect(error?.id == "x")
    #expect(throws: Wire.Malformed.self) { try Wire.Response.decode(bytes(#"{"id":"x","ok":true,"output":7}"#)) }
  }

  @Test(
    "A battery outside its range reads as unknown",
    arguments: [("-1", nil), ("0", 0), ("100", 100), ("101", nil), ("87.0", 87), (#""87""#, nil)] as [(String, Int?)])
  func aBatteryOutsideItsRangeReadsAsUnknown(json: String, expected: Int?) throws {
    let status = try Wire.Status.decode(bytes(#"{"batteryPct":\#(json),"modelState":"ready"}"#))
    #expect(status == Wire.Status(modelState: "ready", batteryPct: expected))
  }

  @Test("An unknown model state is kept") func aStateNobodyKnowsIsKept() throws {
    #expect(try Wire.Status.decode(bytes(#"{"modelState":"idle"}"#)).modelState == "idle")
    #expect(throws: Wire.Malformed.self) { try Wire.Status.decode(bytes(#"{"batteryPct":5}"#)) }
  }

  // MARK: UUIDs

  @Test(
    "Every form of the service UUID is read",
    arguments: [
      "EC0D-0001-EC0D-EC0D-EC0D-EC0D0001EC0D", "EC0D0001-EC0D-EC0D-EC0D-EC0D0001EC0D",
      "ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d", "EC0D0001EC0DEC0DEC0DEC0D0001EC0D",
    ])
  func readsEveryFormOfTheServiceUUID(text: String) {
    #expect(EdgeCoderUUIDs.normalize(text) == EdgeCoderUUIDs.service)
  }

  @Test(
    "Text that is not a UUID is refused",
    arguments: [
      "", "ec0d", "ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0", "ec0d0001-ec0d-ec0d-ec0dec0d-0001ec0d",
      "gc0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d", "ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d-",
      "ëc0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d",
    ])
  func refusesWhatIsNoUUID(text: String) {
    #expect(EdgeCoderUUIDs.normalize(text) == nil)
  }

  @Test("The constants are in their normal form") func theConstantsAreInTheirNormalForm() {
    let all = [EdgeCoderUUIDs.service] + EdgeCoderCharacteristic.allCases.map(\.uuid)
    #expect(all.map(EdgeCoderUUIDs.normalize) == all)
    #expect(Set(all).count == 4)
  }
}
