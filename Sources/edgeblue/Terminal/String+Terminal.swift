extension String {
  /// The text without characters that control a terminal; names come over the air from unknown devices.
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

  /// The text with its lines and tabs, but without other characters that control a terminal.
  var printableLines: String {
    var text = ""
    var run = ""
    for scalar in unicodeScalars {
      if scalar == "\n" || scalar == "\t" {
        text += run.printable
        text.unicodeScalars.append(scalar)
        run = ""
      } else {
        run.unicodeScalars.append(scalar)
      }
    }
    return text + run.printable
  }

  /// The text with the colours of ``Terminal/Paint``, but without other characters that control a terminal.
  /// - Parameter keepsLines: A Boolean value that indicates whether line ends and tabs stay.
  func printablePainted(keepsLines: Bool) -> String {
    func printable(_ part: Substring.UnicodeScalarView) -> String {
      keepsLines ? String(part).printableLines : String(part).printable
    }
    var text = ""
    var rest = Substring(self).unicodeScalars
    while let escape = rest.firstIndex(of: "\u{1b}") {
      text += printable(rest[..<escape])
      rest = rest[escape...]
      let colour = Terminal.Paint.sequences.first { rest.starts(with: $0.unicodeScalars) }
      text += colour ?? "\u{fffd}"
      rest = rest.dropFirst(colour?.unicodeScalars.count ?? 1)
    }
    return text + printable(rest)
  }

  /// The number of characters, without control sequences for colours.
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

  /// Returns lines of at most `width` characters, broken between words; a longer word is broken too.
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

  /// Returns the text followed by spaces up to `width`, at least one.
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(1, width - count))
  }

  /// Returns the text, or its beginning and an ellipsis if it has more than `width` characters.
  func cut(to width: Int) -> String { count > width ? prefix(width - 1) + "…" : self }
}
