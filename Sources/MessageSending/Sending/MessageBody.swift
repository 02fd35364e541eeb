/// The form in which a message travels: a JSON string of unpadded base64, always 1033 bytes.
///
/// The alphabet of base64 includes the slash, which this form never escapes, so that the size does not depend on the
/// contents.
///
/// ```swift
/// let message = try SealedMessage(bytes: [UInt8](repeating: 7, count: SealedMessage.byteCount))
/// let body = MessageBody.encode(message)
/// print(try MessageBody.decode(body) == message)  // true
/// ```
public enum MessageBody {
  /// The size of every body that ``encode(_:)`` returns: 1031 characters and two quotation marks.
  public static let byteCount = 1033
  /// The largest body that ``decode(_:)`` accepts: padding, and an escape for every character, as other clients write.
  public static let decodingLimit = 2 * 1032 + 2

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let quotationMark = UInt8(ascii: "\"")

  /// Returns the body for a message.
  public static func encode(_ message: SealedMessage) -> [UInt8] {
    var body: [UInt8] = [quotationMark]
    body.reserveCapacity(byteCount)
    var rest = message.bytes[...]
    while !rest.isEmpty {
      let group = rest.prefix(3)
      rest = rest.dropFirst(3)
      let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
      for place in 0...group.count { body.append(alphabet[Int(bits >> (18 - 6 * UInt32(place)) & 63)]) }
    }
    return body + [quotationMark]
  }

  /// Returns the message in a body; padding and escaped slashes are accepted, as other clients write them.
  /// - Throws: ``MessageSendingError`` with code `.invalidArgument` if the body is anything but one message.
  public static func decode(_ body: [UInt8]) throws(MessageSendingError) -> SealedMessage {
    guard body.count <= decodingLimit else { throw refusal("has \(body.count) bytes; at most \(decodingLimit)") }
    guard body.count >= 2, body.first == quotationMark, body.last == quotationMark else {
      throw refusal("is not a JSON string")
    }
    var text: [UInt8] = []
    var isEscaped = false
    for byte in body.dropFirst().dropLast() {
      if isEscaped, byte != UInt8(ascii: "/") { throw refusal("contains an escape that is not a slash") }
      if byte == UInt8(ascii: "\\"), !isEscaped {
        isEscaped = true
        continue
      }
      isEscaped = false
      text.append(byte)
    }
    guard !isEscaped else { throw refusal("ends in an escape") }
    if text.count == byteCount - 1, text.last == UInt8(ascii: "=") { text.removeLast() }
    guard text.count == byteCount - 2 else { throw refusal("contains \(text.count) characters; required: 1031") }
    return try SealedMessage(bytes: try bytes(of: text))
  }

  private static func bytes(of text: [UInt8]) throws(MessageSendingError) -> [UInt8] {
    var bytes: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    for character in text {
      guard let value = values[Int(character)] else { throw refusal("contains characters that are not base64") }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    guard bits & (1 << UInt32(count) - 1) == 0 else { throw refusal("has bits after its last byte") }
    return bytes
  }

  private static let values: [UInt8?] = {
    var values = [UInt8?](repeating: nil, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }()

  private static func refusal(_ reason: String) -> MessageSendingError {
    MessageSendingError(.invalidArgument, "the body \(reason)")
  }
}
