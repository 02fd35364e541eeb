import ArgumentParser

/// Returns a transform of an argument that throws a `ValidationError` for text that is no such value.
/// - Parameters:
///   - noun: The name of the value with its article, for the message.
///   - read: A function that returns `nil` for text that is no such value.
func reading<Value>(
  _ noun: String, _ read: @escaping @Sendable (String) -> Value?
) -> @Sendable (String) throws -> Value {
  { text in
    guard let value = read(text) else { throw ValidationError("'\(text)' is not \(noun).") }
    return value
  }
}

/// Returns the case of an enumeration with a raw value.
/// - Throws: `ValidationError`, which lists the allowed values.
func named<Value: CaseIterable & RawRepresentable>(_ text: String) throws -> Value where Value.RawValue == String {
  guard let value = Value(rawValue: text) else {
    throw ValidationError(
      "'\(text)' is not allowed; allowed: \(Value.allCases.map(\.rawValue).joined(separator: ", ")).")
  }
  return value
}
