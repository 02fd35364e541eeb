extension String {
  /// The first 300 characters on one line, for error messages.
  var excerpt: String {
    let line = split(whereSeparator: \.isNewline).joined(separator: " ")
    return line.count > 300 ? line.prefix(300) + "…" : line
  }
}
