/// A text in the form that every message has: compressed, with its length before it and random bytes after it, 512 bytes.
///
/// ```swift
/// let text = "The quick brown fox jumps over the lazy dog."
/// print("\(try PaddedText.usedByteCount(text)) of \(PaddedText.byteCount) bytes")
/// ```
public enum PaddedText {
  /// The size of every padded text, 512 bytes.
  public static let byteCount = 512
  /// The bytes that give the length of the compressed text.
  private static let lengthByteCount = 2
  /// The largest factor by which a compressed text may expand: a reader refuses more.
  static let largestExpansion = 100

  /// Returns the bytes of the 512 that a text needs; a text fits that needs at most ``byteCount``.
  ///
  /// A text that is longer than ``largestByteCount`` is not compressed for it: the result is then its own length.
  /// - Throws: ``MessageSendingError`` with code `.cryptography` when memory runs out.
  public static func usedByteCount(_ text: String) throws(MessageSendingError) -> Int {
    guard text.utf8.count <= largestByteCount else { return text.utf8.count }
    var bytes = Array(text.utf8)
    defer { wipe(&bytes) }
    return try lengthByteCount + Gzip.compress(bytes).count
  }

  /// The largest size of a text before compression, in bytes of UTF-8; only a text that repeats itself reaches it.
  public static let largestByteCount = (byteCount - lengthByteCount) * largestExpansion

  /// Returns the padded text.
  /// - Throws: ``MessageSendingError`` with code `.textDoesNotFit`.
  static func bytes(_ text: String) throws(MessageSendingError) -> [UInt8] {
    var bytes = Array(text.utf8)
    defer { wipe(&bytes) }
    guard bytes.count <= largestByteCount else {
      throw MessageSendingError(
        .textDoesNotFit, "the text has \(bytes.count) bytes; allowed: \(largestByteCount), and less as a rule")
    }
    let compressed = try Gzip.compress(bytes)
    let room = byteCount - lengthByteCount - compressed.count
    guard room >= 0 else {
      throw MessageSendingError(
        .textDoesNotFit,
        "the text needs \(lengthByteCount + compressed.count) bytes when it is compressed; allowed: \(byteCount)")
    }
    guard bytes.count <= compressed.count * largestExpansion else {
      throw MessageSendingError(
        .textDoesNotFit,
        "the text repeats itself: it expands \(bytes.count / compressed.count) times; "
          + "allowed: \(largestExpansion) times")
    }
    let length = [UInt8(compressed.count >> 8), UInt8(compressed.count & 0xff)]
    return length + compressed + (try Sodium.random(room))
  }

  /// Reads a padded text.
  /// - Throws: ``MessageSendingError`` with code `.cannotOpen` for bytes that no sender of ours makes.
  static func text(_ bytes: [UInt8]) throws(MessageSendingError) -> String {
    try checkSize(of: "the padded text", bytes.count, byteCount, .cannotOpen)
    let length = Int(bytes[0]) << 8 | Int(bytes[1])
    guard length <= byteCount - lengthByteCount else {
      throw MessageSendingError(
        .cannotOpen, "the compressed text has \(length) bytes; allowed: \(byteCount - lengthByteCount)")
    }
    let compressed = Array(bytes[lengthByteCount..<lengthByteCount + length])
    guard var expanded = try Gzip.expand(compressed, limit: length * largestExpansion) else {
      throw MessageSendingError(
        .cannotOpen, "the compressed text is no gzip stream, or expands more than \(largestExpansion) times")
    }
    defer { wipe(&expanded) }
    guard let text = String(validating: expanded, as: UTF8.self) else {
      throw MessageSendingError(.cannotOpen, "the text is not UTF-8")
    }
    return text
  }
}
