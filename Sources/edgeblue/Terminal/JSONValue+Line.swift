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
    var style = Style()
    style.string = { text, bytes in
      var quoted: [UInt8] = []
      quoted.append(jsonString: text)
      bytes += String(decoding: quoted, as: UTF8.self).escapingControls.utf8
    }
    style.number = Self.shortest
    style.members = Self.sorted
    return encoded(in: style)
  }

  /// Returns 5 for 5.0. JSON has no infinity: a number beyond the largest `Double` is nothing.
  private static func shortest(_ digits: String) -> String {
    let number = JSONValue.number(digits)
    return number.integer.map(String.init) ?? number.double.map { "\($0)" } ?? "null"
  }

  /// The members by name; of several with one name the last one, as a reader takes it.
  private static func sorted(_ members: [Member]) -> [Member] {
    let last = Dictionary(members.map { ($0.name, $0.value) }) { $1 }
    return last.sorted { $0.key < $1.key }.map { Member($0.key, $0.value) }
  }
}
