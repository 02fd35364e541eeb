/// A reader of a JSON value from a server that sends numbers as strings, strings as numbers, and flags as either.
///
/// It accepts each of these forms. A member that is missing reads as `null`.
package struct LenientJSON: Sendable, Hashable {
  /// The value as it was sent.
  package let value: JSONValue

  /// The longest text that is read, in characters.
  static let textLimit = 4096
  /// The longest number that is read from a string, in bytes: an integer has no more than 20 digits.
  private static let numberLimit = 32

  /// Creates a reader of a value.
  package init(_ value: JSONValue) { self.value = value }

  /// Creates a reader of a document; `nil` if its bytes are not JSON.
  package init?(parsing bytes: some Sequence<UInt8>) {
    guard let value = try? JSONValue(parsing: Array(bytes)) else { return nil }
    self.value = value
  }

  /// The string, or the digits of a number; `nil` for others and for an empty or overlong text.
  package var text: String? {
    switch value {
    case .string(let text), .number(let text): text.isEmpty || text.count > Self.textLimit ? nil : text
    default: nil
    }
  }

  /// The whole number, also as a string or with a fraction of zero; `nil` for others and for one out of range.
  package var integer: Int? {
    guard case .string(let text) = value else { return value.integer }
    guard text.utf8.count <= Self.numberLimit else { return nil }
    let trimmed = String(text.drop { $0 == " " }.prefix { $0 != " " })
    return Int(trimmed) ?? Double(trimmed).flatMap { Int(exactly: $0) }
  }

  /// The flag, also as a number or a word; `nil` for others.
  package var flag: Bool? {
    switch value {
    case .bool(let flag): flag
    case .number: [0: false, 1: true][value.integer ?? -1]
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
  package var elements: [LenientJSON] { value.elements?.map { LenientJSON($0) } ?? [] }

  /// The members of an object; none for others.
  package var members: [JSONValue.Member] { value.members ?? [] }

  /// Returns the member of an object, and null for others.
  package subscript(_ name: String) -> LenientJSON { LenientJSON(value[name] ?? .null) }

  /// Returns the first of several members that is there and not null, for servers that do not agree on a name.
  package subscript(first names: String...) -> LenientJSON {
    names.lazy.map { self[$0] }.first { $0.value != .null } ?? LenientJSON(.null)
  }

  /// The reasons that a control server gives in the member `error`, a text or a list: at most 8, of 200 characters.
  package var errors: [String] {
    let error = self["error"]
    let texts = error.elements.isEmpty ? [error] : error.elements
    return texts.prefix(8).compactMap(\.text).map { String($0.prefix(200)) }
  }
}
