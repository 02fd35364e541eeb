import JSONValues

extension JSONValue {
  /// Creates a string, or null for none.
  init(_ value: String?) { self = value.map { .string($0) } ?? .null }
  /// Creates a number, or null for none.
  init(_ value: Int?) { self = value.map { .number($0) } ?? .null }
  /// Creates a number, or null for none and for one that is not finite.
  init(_ value: Double?) { self = value.map { .number($0) } ?? .null }

  /// The value on one line, with sorted keys, and without characters that control a terminal: they are escaped.
  var line: String { String(decoding: lineBytes, as: UTF8.self) }

  /// The line in UTF-8.
  ///
  /// It is written from the value as it stands: Foundation's encoder makes a tree of its own first, which is larger than
  /// everything else that a command holds where a speed test has tens of thousands of samples.
  var lineBytes: [UInt8] {
    var bytes: [UInt8] = []
    writeLine(to: &bytes)
    return bytes
  }

  private func writeLine(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .bool(let value): bytes += (value ? "true" : "false").utf8
    case .number: bytes += numberText.utf8
    case .string(let text): Self.write(text, to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.writeLine(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in Self.sorted(members).enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        Self.write(member.name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.writeLine(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  /// The digits of a number: 5 and not 5.0. JSON has no infinity: a number beyond the largest `Double` is nothing.
  private var numberText: String { integer.map(String.init) ?? double.map { "\($0)" } ?? "null" }

  private static func write(_ text: String, to bytes: inout [UInt8]) {
    var quoted: [UInt8] = []
    quoted.append(jsonString: text)
    bytes += String(decoding: quoted, as: UTF8.self).escapingControls.utf8
  }

  /// The members by name; of several with one name the last one, as a reader takes it.
  private static func sorted(_ members: [Member]) -> [Member] {
    let last = Dictionary(members.map { ($0.name, $0.value) }) { $1 }
    return last.sorted { $0.key < $1.key }.map { Member($0.key, $0.value) }
  }
}
