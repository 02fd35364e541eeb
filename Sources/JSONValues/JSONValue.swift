/// A JSON value whose members keep their order and whose numbers keep their digits.
///
/// The order of the properties in a schema is the order in which a model writes them, so a schema must pass through
/// unchanged. The decoder of Foundation does not keep the order.
///
/// ```swift
/// let schema = try JSONValue(parsing: Array(#"{"type":"object","properties":{}}"#.utf8))
/// print(schema["type"]?.text ?? "no type")  // object
/// ```
public enum JSONValue: Sendable, Hashable {
  /// The value `null`, which stands for nothing.
  case null
  /// The value `true` or `false`.
  case bool(Bool)
  /// A number, as it was written.
  case number(String)
  /// A string, without its escapes.
  case string(String)
  /// A list of values, in order.
  case array([JSONValue])
  /// An object, with its members in order.
  case object([Member])

  /// A member of an object: its name and its value.
  public struct Member: Sendable, Hashable {
    /// The name of the member.
    public var name: String
    /// The value of the member.
    public var value: JSONValue

    /// Creates a member from its name and its value.
    public init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// Creates the number of an integer.
  public static func number(_ value: some BinaryInteger) -> JSONValue { .number(String(value)) }

  /// Creates the number of a finite floating-point value; `null` for one that JSON cannot represent.
  public static func number(_ value: Double) -> JSONValue { value.isFinite ? .number("\(value)") : .null }

  /// Creates an object whose members are in the order of their names.
  public static func object(_ members: [String: JSONValue]) -> JSONValue {
    .object(members.sorted { $0.key < $1.key }.map { Member($0.key, $0.value) })
  }

  /// Returns the value of a member of an object; the last one of several, `nil` for none and for other values.
  public subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.name == name }?.value
  }

  /// The text of a string; `nil` for other values.
  public var text: String? { if case .string(let text) = self { text } else { nil } }

  /// The whole number that a number stands for; `nil` for other values and for one that does not fit into `Int`.
  public var integer: Int? {
    guard case .number(let digits) = self else { return nil }
    return Int(digits) ?? double.flatMap { Int(exactly: $0) }
  }

  /// The value of a number; `nil` for other values and for one that is not finite as `Double`.
  public var double: Double? {
    guard case .number(let digits) = self, let value = Double(digits), value.isFinite else { return nil }
    return value
  }

  /// The Boolean value; `nil` for other values.
  public var isTrue: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// The values of a list; `nil` for other values.
  public var elements: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

  /// The members of an object, in order; `nil` for other values.
  public var members: [Member]? { if case .object(let members) = self { members } else { nil } }

  /// The value as JSON in UTF-8, without spaces.
  public var encoded: [UInt8] { encoded(in: Style()) }

  /// The forms of the parts of a value in its text; by default as they stand.
  package struct Style {
    /// A closure that appends a string with its quotes.
    package var string: (String, inout [UInt8]) -> Void = { $1.append(jsonString: $0) }
    /// A closure that returns the text of a number from its digits.
    package var number: (String) -> String = { $0 }
    /// A closure that returns the members of an object in the order of the text.
    package var members: ([Member]) -> [Member] = { $0 }

    /// Creates the style of a value that is written as it stands.
    package init() {}
  }

  /// Returns the value as JSON in UTF-8, without spaces, in a style.
  package func encoded(in style: Style) -> [UInt8] {
    var bytes: [UInt8] = []
    write(to: &bytes, in: style)
    return bytes
  }

  private func write(to bytes: inout [UInt8], in style: Style) {
    switch self {
    case .null: bytes += "null".utf8
    case .bool(let value): bytes += (value ? "true" : "false").utf8
    case .number(let digits): bytes += style.number(digits).utf8
    case .string(let text): style.string(text, &bytes)
    case .array(let elements):
      bytes.append(.openBracket)
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(.comma) }
        element.write(to: &bytes, in: style)
      }
      bytes.append(.closeBracket)
    case .object(let members):
      bytes.append(.openBrace)
      for (index, member) in style.members(members).enumerated() {
        if index > 0 { bytes.append(.comma) }
        style.string(member.name, &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes, in: style)
      }
      bytes.append(.closeBrace)
    }
  }
}
