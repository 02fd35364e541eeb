extension String {
  /// The text without characters that control a terminal; names come over the air from unknown devices.
  var printable: String {
    String(String.UnicodeScalarView(unicodeScalars.map { Self.isPrintable($0) ? $0 : "\u{fffd}" }))
  }

  /// The text of a JSON document in which `\u` and four digits stand for each character that is not ``printable``. Those
  /// are in strings alone: a document on one line has none elsewhere.
  var escapingControls: String {
    unicodeScalars.reduce(into: "") { text, scalar in
      if Self.isPrintable(scalar) { return text.unicodeScalars.append(scalar) }
      for unit in UTF16.encode(scalar)! { text += "\\u" + String(0x10000 + Int(unit), radix: 16).dropFirst() }
    }
  }

  private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
    default: true
    }
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

  /// Returns the end of a line that fits into a number of columns, after an ellipsis if it is not all of the line.
  func end(columns limit: Int?) -> String {
    guard let limit, columns > limit else { return self }
    var room = limit - 1
    return "…"
      + String(
        reversed().prefix { letter in
          room -= letter.columns
          return room >= 0
        }.reversed())
  }

  /// The number of columns of a terminal that the text takes, without control sequences for colours.
  var columns: Int {
    var count = 0
    var isColour = false
    for letter in self {
      if letter == "\u{1b}" {
        isColour = true
      } else if isColour {
        isColour = !letter.isLetter
      } else {
        count += letter.columns
      }
    }
    return count
  }

  /// Returns lines of at most `width` columns, broken between words; a longer word is broken too.
  func wrapped(to width: Int) -> [String] {
    var lines = [""]
    for word in split(separator: " ", omittingEmptySubsequences: false).map(String.init) {
      let line = lines[lines.count - 1]
      if line.isEmpty || line.columns + 1 + word.columns > width {
        if !line.isEmpty { lines.append("") }
        var rest = word[...]
        while case let start = rest.start(ofColumns: width, least: 1), start.endIndex < rest.endIndex {
          lines[lines.count - 1] = String(start)
          lines.append("")
          rest = rest[start.endIndex...]
        }
        lines[lines.count - 1] = String(rest)
      } else {
        lines[lines.count - 1] += " " + word
      }
    }
    return lines
  }

  /// Returns the text behind a label, in lines that fit the columns of a terminal.
  func lines(behind label: String, columns: Int = 80) -> [String] {
    wrapped(to: max(columns - label.columns, 20)).enumerated().map { index, line in
      (index == 0 ? label : String(repeating: " ", count: label.columns)) + line
    }
  }

  /// Returns the text followed by spaces up to `width` columns, at least one.
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(1, width - columns))
  }

  /// Returns the text, or its beginning and an ellipsis if it has more than `width` columns.
  func cut(to width: Int) -> String { columns > width ? self[...].start(ofColumns: width - 1, least: 0) + "…" : self }
}

extension Substring {
  /// Returns the characters at the start that fit into columns, and at least a number of characters.
  fileprivate func start(ofColumns width: Int, least: Int) -> Substring {
    var end = startIndex
    var count = 0
    var letters = 0
    while end < endIndex {
      count += self[end].columns
      letters += 1
      guard count <= width || letters <= least else { break }
      end = index(after: end)
    }
    return self[..<end]
  }
}

extension Character {
  /// The number of columns that terminals give the character, at most: many draw the parts of an emoji side by side.
  fileprivate var columns: Int {
    // Printable ASCII is nearly everything that is printed.
    if isASCII { return 1 }
    let count = unicodeScalars.reduce(0) { $0 + $1.columns }
    // This selector makes a picture of a narrow character.
    return count == 1 && unicodeScalars.contains("\u{fe0f}") ? 2 : count
  }
}

extension Unicode.Scalar {
  /// The blocks of Unicode's property East_Asian_Width with the values Wide and Fullwidth, but for emoji.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115f, 0x2e80...0x303e, 0x3041...0x33ff, 0x3400...0x4dbf, 0x4e00...0xa4cf, 0xa960...0xa97f,
    0xac00...0xd7a3, 0xf900...0xfaff, 0xfe10...0xfe19, 0xfe30...0xfe6f, 0xff01...0xff60, 0xffe0...0xffe6,
    0x16fe0...0x18dff, 0x1aff0...0x1b2ff, 0x1f200...0x1f2ff, 0x20000...0x3fffd,
  ]

  /// The number of columns that terminals give the scalar: 0 for marks on the one before, 2 for the wide ones of East
  /// Asia and for emoji, else 1.
  fileprivate var columns: Int {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    // The vowels and finals of a Hangul syllable are drawn into its first part.
    case _ where 0x1160...0x11ff ~= value: return 0
    default: return properties.isEmojiPresentation || Self.wide.contains { $0 ~= value } ? 2 : 1
    }
  }
}
