/// Comma-separated values, as RFC 4180 has them.
enum CSV {
  /// Returns a line; a missing value is an empty one.
  static func line(_ values: [String?]) -> String {
    values.map { value in
      let text = (value ?? "").printable
      let isPlain = !text.contains(where: { ",\"\r\n".contains($0) })
      return isPlain ? text : "\"" + text.replacing("\"", with: "\"\"") + "\""
    }.joined(separator: ",")
  }
}
