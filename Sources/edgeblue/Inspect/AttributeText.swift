import BlueZ

/// Formats a value for display: its decoded meaning, its text, or its bytes.
enum AttributeText {
  /// The limit of bytes for display; `--json` prints all of them.
  private static let shownBytes = 32

  static func text(_ uuid: BluetoothUUID, _ bytes: [UInt8]) -> String {
    if bytes.isEmpty { return "empty" }
    if let words = AttributeMeaning.words(uuid, bytes) { return "\(words)  (\(hex(bytes)))" }
    if let text = readable(bytes, isText: AttributeMeaning.isText(uuid)) { return "\"\(text)\"" }
    let more = bytes.count > shownBytes ? " … (\(bytes.count) bytes)" : ""
    return hex(Array(bytes.prefix(shownBytes)), separator: " ") + more
  }

  /// Returns the bytes as text, if they are text by definition or all printable. One or two printable bytes are as likely
  /// a number, and return `nil`.
  static func readable(_ bytes: [UInt8], isText: Bool) -> String? {
    let end = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
    guard isText || end > 2, let text = String(validating: bytes[..<end], as: UTF8.self) else { return nil }
    return isText || text.printable == text ? text.printable : nil
  }

  static func hex(_ bytes: [UInt8], separator: String = "") -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: separator)
  }
}
