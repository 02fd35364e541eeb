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
