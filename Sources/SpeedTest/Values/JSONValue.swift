package import FoundationEssentials

/// A JSON value in a request to a control server or in its reply.
///
/// Control servers send numbers as strings, strings as numbers and flags as either. The readers accept each of them; what
/// this library sends has one form.
package enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// A finite number that is not whole, or does not fit the range of ``integer(_:)``.
  case decimal(Double)
  case string(String)
  case list([JSONValue])
  case object([String: JSONValue])

  /// The depth of nested lists and objects that is read.
  static let depthLimit = 16
  /// The longest string that a reader returns, in characters.
  static let textLimit = 4096

  /// Reads a document.
  /// - Returns: `nil` if the bytes are not JSON, or nested more deeply than 16 levels.
  package init?(_ data: Data) {
    guard let value = try? JSONDecoder().decode(JSONValue.self, from: data) else { return nil }
    self = value
  }

  /// The document, with sorted keys.
  package var data: Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // JSON can represent every case; a number that is not finite is never made here.
    return (try? encoder.encode(self)) ?? Data("null".utf8)
  }
}

extension JSONValue {
  /// The string, or the digits of a number; `nil` for others and for an empty or overlong string.
  package var text: String? {
    switch self {
    case .string(let text): text.isEmpty || text.count > Self.textLimit ? nil : text
    case .integer(let number): "\(number)"
    case .decimal(let number): "\(number)"
    default: nil
    }
  }

  /// The whole number, also as a string or with a fraction of zero; `nil` for others and for one out of range.
  package var integer: Int? {
    switch self {
    case .integer(let number): Int(exactly: number)
    case .decimal(let number): Int(exactly: number)
    case .string(let text):
      // A number has no more than 20 digits; a longer string is none.
      text.utf8.count > 32 ? nil : Self.number(text)
    default: nil
    }
  }

  /// The flag, also as a number or a word; `nil` for others.
  package var flag: Bool? {
    switch self {
    case .bool(let flag): flag
    case .integer(1): true
    case .integer(0): false
    case .string(let text):
      switch text.lowercased() {
      case "true", "1", "yes": true
      case "false", "0", "no": false
      default: nil
      }
    default: nil
    }
  }

  /// The elements of a list; none for others.
  package var list: [JSONValue] { if case .list(let values) = self { values } else { [] } }

  /// The members of an object; none for others.
  package var object: [String: JSONValue] { if case .object(let members) = self { members } else { [:] } }

  /// The member of an object, and null for others.
  package subscript(_ key: String) -> JSONValue { object[key] ?? .null }

  private static func number(_ text: String) -> Int? {
    let digits = text.drop { $0 == " " }
    let trimmed = String(digits.prefix { $0 != " " })
    return Int(trimmed) ?? Double(trimmed).flatMap { Int(exactly: $0) }
  }
}

extension JSONValue: Codable {
  package init(from decoder: any Decoder) throws {
    guard decoder.codingPath.count <= Self.depthLimit else {
      throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "nested too deeply"))
    }
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self), value.isFinite {
      self = .decimal(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .list(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .decimal(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .list(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(arrayLiteral elements: JSONValue...) { self = .list(elements) }
  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements) { $1 })
  }

  /// Creates a number from an unsigned one, which is clamped.
  package init(_ value: UInt64) { self = .integer(Int64(clamping: value)) }
  /// Creates a number from a whole one.
  package init(_ value: Int) { self = .integer(Int64(value)) }
  /// Creates a string, or null for none.
  package init(_ value: String?) { self = value.map { .string($0) } ?? .null }
}
