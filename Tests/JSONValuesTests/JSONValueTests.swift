import Foundation
import JSONValues
import Testing

@Suite("JSON that keeps its order and its digits") struct JSONValueTests {
  private func parsed(_ text: String) throws -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

  @Test(
    "What is read is written the same",
    arguments: [
      #"{"z":1,"a":{"y":[],"b":[true,false,null]}}"#, "[[[]],{}]", #""a\"\\\n\u0001é🐟""#, "-0", "1.50", "1e400",
      "12345678901234567890123", "-0.5E+3", #"{"a":1,"a":2}"#,
    ])
  func whatIsReadIsWritten(text: String) throws {
    #expect(String(decoding: try parsed(text).encoded, as: UTF8.self) == text)
  }

  @Test(
    "Spaces and escapes are read",
    arguments: [
      (" \t\r\n[ 1 , 2 ]\n", "[1,2]"), (#""\u00e9\ud83d\udc1f\/\b\f\t""#, "\"é🐟/\\b\\f\\t\""),
      (#"{ "a" : "b" }"#, #"{"a":"b"}"#),
    ])
  func spacesAndEscapes(text: String, written: String) throws {
    #expect(String(decoding: try parsed(text).encoded, as: UTF8.self) == written)
  }

  @Test(
    "What is not JSON is refused",
    arguments: [
      "", " ", "{", "[1,", "[1 2]", "{\"a\"}", "{a:1}", "{\"a\":1,}", "[,]", "01", "1.", ".5", "+1", "1e", "nul",
      "truex",
      "\"", "\"\u{1}\"", #""\x""#, #""\u12g4""#, #""\ud800""#, #""\ud800\u0041""#, #""\udc00""#, "1 2", "{} {}", "'a'",
      "NaN",
    ])
  func whatIsNotJSON(text: String) {
    #expect(throws: JSONValue.Malformed.self) { try parsed(text) }
  }

  @Test("Bytes that are not UTF-8 are refused") func notUTF8() {
    #expect(throws: JSONValue.Malformed.self) { try JSONValue(parsing: [0x22, 0xff, 0x22]) }
  }

  @Test("Depth has a limit", arguments: [(JSONValue.depthLimit, true), (JSONValue.depthLimit + 1, false)])
  func depth(levels: Int, isRead: Bool) {
    let text = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    #expect(((try? parsed(text)) != nil) == isRead)
    // Far beyond the limit nothing is left of the stack to overflow.
    #expect(throws: JSONValue.Malformed.self) { try parsed(String(repeating: "[", count: 1_000_000)) }
  }

  @Test(
    "An encoder writes a whole number without its fraction, and null for a number that is too large",
    arguments: [("7.0", "7"), ("0.5", "0.5"), ("-1e400", "null")])
  func numbersOfAnEncoder(text: String, written: String) throws {
    #expect(String(decoding: try JSONEncoder().encode([try parsed(text)]), as: UTF8.self) == "[\(written)]")
  }

  @Test("Values are read as what they are") func values() throws {
    let value = try parsed(#"{"a":"x","b":7,"c":7.0,"d":0.5,"e":[1],"f":true,"g":1e400,"a":"y"}"#)
    #expect(value["a"]?.text == "y")
    #expect(value["b"]?.integer == 7)
    #expect(value["c"]?.integer == 7)
    #expect(value["d"]?.integer == nil)
    #expect(value["d"]?.double == 0.5)
    #expect(value["e"]?.elements == [.number("1")])
    #expect(value["f"]?.isTrue == true)
    #expect(value["g"]?.double == nil)
    #expect(value["h"] == nil)
    #expect(JSONValue.number(Double.infinity) == .null)
  }
}
