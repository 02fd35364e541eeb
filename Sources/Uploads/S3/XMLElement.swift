internal import FoundationEssentials

/// An element of the XML documents that S3 returns: its name, text and child elements.
///
/// Attributes are ignored; a document type, and with it every declared entity, is refused. This is the part of XML that S3
/// uses: a complete XML library would bring libxml2 into every program.
struct XMLElement: Hashable {
  var name: String
  var text = ""
  var children: [XMLElement] = []

  /// The deepest nesting that is read; S3 uses less.
  private static let depthLimit = 16

  /// Parses a document.
  /// - Returns: The root element; `nil` if the document is malformed or truncated.
  init?(_ data: Data) {
    var reader = Reader(bytes: Array(data))
    guard let root = reader.document() else { return nil }
    self = root
  }

  private init(name: String) { self.name = name }

  /// The text of the first element of this name.
  subscript(name: String) -> String? { children.first { $0.name == name }?.text }

  /// Returns all child elements of a name.
  func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }

  private struct Reader {
    let bytes: [UInt8]
    var place = 0

    mutating func document() -> XMLElement? {
      if bytes.starts(with: [0xef, 0xbb, 0xbf]) { place = 3 }
      guard skipProlog(), let root = element(1), skipProlog() else { return nil }
      return place == bytes.count ? root : nil
    }

    /// Blanks, comments and instructions.
    private mutating func skipProlog() -> Bool {
      while true {
        while place < bytes.count, Self.isBlank(bytes[place]) { place += 1 }
        if has("<?") {
          guard skip(past: "?>") else { return false }
        } else if has("<!--") {
          guard skip(past: "-->") else { return false }
        } else {
          return true
        }
      }
    }

    private mutating func element(_ depth: Int) -> XMLElement? {
      guard depth <= XMLElement.depthLimit, has("<"), let end = index(of: UInt8(ascii: ">")) else { return nil }
      let isEmpty = bytes[end - 1] == UInt8(ascii: "/")
      let head = bytes[(place + 1)..<(isEmpty ? end - 1 : end)]
      let full = head.prefix { !Self.isBlank($0) }
      guard let first = full.first, first != UInt8(ascii: "!"), first != UInt8(ascii: "/") else { return nil }
      // Without the prefix of a namespace.
      let local = full.split(separator: UInt8(ascii: ":")).last ?? full
      var element = XMLElement(name: String(decoding: local, as: UTF8.self))
      place = end + 1
      if isEmpty { return element }
      var text: [UInt8] = []
      while place < bytes.count {
        if has("</") {
          guard let end = index(of: UInt8(ascii: ">")) else { return nil }
          let closing = bytes[(place + 2)..<end].prefix { !Self.isBlank($0) }
          guard closing.elementsEqual(full) else { return nil }
          place = end + 1
          element.text = String(decoding: text, as: UTF8.self)
          return element
        } else if has("<!--") {
          guard skip(past: "-->") else { return nil }
        } else if has("<![CDATA[") {
          let start = place + 9
          guard skip(past: "]]>") else { return nil }
          text += bytes[start..<(place - 3)]
        } else if has("<") {
          guard let child = self.element(depth + 1) else { return nil }
          element.children.append(child)
        } else if has("&") {
          guard let end = index(of: UInt8(ascii: ";")), let scalar = Self.entity(bytes[(place + 1)..<end]) else {
            return nil
          }
          text += Array(String(Character(scalar)).utf8)
          place = end + 1
        } else {
          text.append(bytes[place])
          place += 1
        }
      }
      return nil
    }

    private func has(_ text: StaticString) -> Bool {
      text.withUTF8Buffer { bytes[place...].starts(with: $0) }
    }

    private mutating func skip(past text: String) -> Bool {
      let wanted = Array(text.utf8)
      var next = place
      while next + wanted.count <= bytes.count {
        if bytes[next..<(next + wanted.count)].elementsEqual(wanted) {
          place = next + wanted.count
          return true
        }
        next += 1
      }
      return false
    }

    private func index(of byte: UInt8) -> Int? { bytes[place...].firstIndex(of: byte) }

    private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0a, 0x0d].contains(byte) }

    private static func entity(_ name: ArraySlice<UInt8>) -> UnicodeScalar? {
      switch String(decoding: name, as: UTF8.self) {
      case "lt": return "<"
      case "gt": return ">"
      case "amp": return "&"
      case "quot": return "\""
      case "apos": return "'"
      case let text where text.hasPrefix("#x"): return UInt32(text.dropFirst(2), radix: 16).flatMap(UnicodeScalar.init)
      case let text where text.hasPrefix("#"): return UInt32(text.dropFirst()).flatMap(UnicodeScalar.init)
      default: return nil
      }
    }
  }
}

extension String {
  /// The text with the characters that XML reserves replaced by entities.
  var xmlEscaped: String {
    reduce(into: "") { text, character in
      switch character {
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "&": text += "&amp;"
      case "\"": text += "&quot;"
      case "\r": text += "&#13;"
      default: text.append(character)
      }
    }
  }
}
