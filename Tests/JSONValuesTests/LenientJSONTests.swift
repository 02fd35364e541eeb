import Testing

@testable import JSONValues

@Suite("JSON of servers that mix numbers and strings") struct LenientJSONTests {
  private func reader(_ text: String) throws -> LenientJSON { try #require(LenientJSON(parsing: text.utf8)) }

  @Test(
    "A whole number is read from a number and from a string",
    arguments: [
      ("7", 7), ("7.0", 7), (#""7""#, 7), (#"" 7 ""#, 7), (#""7.0""#, 7), ("-1", -1), ("0.5", nil), ("1e300", nil),
      (#""""#, nil), (#""7x""#, nil), ("true", nil), ("null", nil), ("[7]", nil), ("9223372036854775808", nil),
    ])
  func integers(text: String, number: Int?) throws {
    #expect(try reader(text).integer == number)
  }

  @Test("An overlong string is no number") func overlongNumber() throws {
    #expect(LenientJSON(.string(String(repeating: "0", count: 31) + "7")).integer == 7)
    #expect(LenientJSON(.string(String(repeating: "0", count: 32) + "7")).integer == nil)
  }

  @Test(
    "A flag is read from a word and from a number",
    arguments: [
      ("true", true), ("1", true), (#""Yes""#, true), (#""1""#, true), ("false", false), ("0", false),
      (#""NO""#, false), ("2", nil), ("-1", nil), ("0.5", nil), (#""on""#, nil), ("null", nil),
    ])
  func flags(text: String, flag: Bool?) throws {
    #expect(try reader(text).flag == flag)
  }

  @Test("A text is read from a number, and an empty or overlong one is none") func texts() throws {
    #expect(try reader("7").text == "7")
    #expect(try reader(#""""#).text == nil)
    #expect(LenientJSON(.string(String(repeating: "a", count: 4096))).text != nil)
    #expect(LenientJSON(.string(String(repeating: "a", count: 4097))).text == nil)
  }

  @Test("The first of several members that is not null is read") func names() throws {
    let reader = try reader(#"{"a":null,"b":"x","c":"y"}"#)
    #expect(reader[first: "a", "b", "c"].text == "x")
    #expect(reader[first: "d", "a"].value == .null)
    #expect(reader["d"]["e"].elements.isEmpty)
  }

  @Test(
    "Errors are read from a text and from a list",
    arguments: [
      (#"{"error":"no"}"#, ["no"]), (#"{"error":["a","",7]}"#, ["a", "7"]), (#"{"error":[]}"#, []), ("{}", []),
      ("7", []),
    ])
  func errors(text: String, errors: [String]) throws {
    #expect(try reader(text).errors == errors)
  }

  @Test("Errors are limited in number and length") func manyErrors() throws {
    let texts = JSONValue.array(.init(repeating: .string(String(repeating: "e", count: 300)), count: 20))
    let errors = LenientJSON(["error": texts]).errors
    #expect(errors.map(\.count) == .init(repeating: 200, count: 8))
  }
}
