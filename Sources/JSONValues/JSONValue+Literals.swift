extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// Creates the string of a literal.
  public init(stringLiteral value: String) { self = .string(value) }
  /// Creates the Boolean value of a literal.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// Creates the number of a literal.
  public init(integerLiteral value: Int64) { self = .number(value) }
  /// Creates the list of a literal.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// Creates the object of a literal, with its members in their order.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { Member($0.0, $0.1) })
  }
}
