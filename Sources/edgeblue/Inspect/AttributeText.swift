import BlueZ

/// A value as a person reads it: what it means, the text it holds, or its bytes.
enum AttributeText {
  /// More bytes than these say nothing to a person; `--json` has them all.
  private static let shownBytes = 32

  static func text(_ uuid: BluetoothUUID, _ bytes: [UInt8]) -> String {
    if bytes.isEmpty { return "empty" }
    if let words = AttributeMeaning.words(uuid, bytes) { return "\(words)  (\(hex(bytes)))" }
    if let text = readable(bytes, isText: AttributeMeaning.isText(uuid)) { return "\"\(text)\"" }
    let more = bytes.count > shownBytes ? " … (\(bytes.count) bytes)" : ""
    return hex(Array(bytes.prefix(shownBytes)), separator: " ") + more
  }

  /// The text the bytes are: by definition, or because all of it can be printed. One or two letters are as likely a
  /// number.
  static func readable(_ bytes: [UInt8], isText: Bool) -> String? {
    let end = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
    guard isText || end > 2, let text = String(validating: bytes[..<end], as: UTF8.self) else { return nil }
    return isText || text.printable == text ? text.printable : nil
  }

  static func hex(_ bytes: [UInt8], separator: String = "") -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: separator)
  }
}
