extension Decoder {
  /// Returns the value that a text describes.
  /// - Parameter noun: The kind of value with its article, for the error.
  /// - Throws: `DecodingError` for any other text.
  func text<Value: LosslessStringConvertible>(of noun: String) throws -> Value {
    let text = try String(from: self)
    guard let value = Value(text) else {
      throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: "'\(text)' is not \(noun)"))
    }
    return value
  }
}
