extension String {
  /// The text without what would move a terminal's cursor or colour it: names come over the air from strangers.
  var printable: String {
    String(
      String.UnicodeScalarView(
        unicodeScalars.map { scalar in
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: "\u{fffd}"
          default: scalar
          }
        }))
  }

  /// How many letters it has, without what colours them.
  var letters: Int {
    var count = 0
    var isColour = false
    for letter in self {
      if letter == "\u{1b}" {
        isColour = true
      } else if isColour {
        isColour = !letter.isLetter
      } else {
        count += 1
      }
    }
    return count
  }

  /// Lines of at most so many letters, broken between words; a word that is longer is broken, too.
  func wrapped(to width: Int) -> [String] {
    var lines = [""]
    for word in split(separator: " ", omittingEmptySubsequences: false) {
      let line = lines[lines.count - 1]
      if line.isEmpty || line.count + 1 + word.count > width {
        if !line.isEmpty { lines.append("") }
        var rest = word
        while rest.count > width {
          lines[lines.count - 1] = String(rest.prefix(width))
          lines.append("")
          rest = rest.dropFirst(width)
        }
        lines[lines.count - 1] = String(rest)
      } else {
        lines[lines.count - 1] += " " + word
      }
    }
    return lines
  }

  /// The text with blanks behind it, at least one.
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(1, width - count))
  }

  /// The text, or its beginning and an ellipsis.
  func cut(to width: Int) -> String { count > width ? prefix(width - 1) + "…" : self }
}
