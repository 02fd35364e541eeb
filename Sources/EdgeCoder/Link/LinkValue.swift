/// One value of a v2 link over GATT, written or notified: `docs/link-v2.md`, section 4.
///
/// ```
/// link 2 · kind 1 · number 1 · bytes …      little-endian
/// ```
struct LinkValue: Sendable, Hashable {
  enum Kind: UInt8, Sendable {
    /// The beginning or the middle of a frame; the number counts values of this kind and the next, from 0.
    case piece = 0
    /// The end of a frame, or all of it.
    case last = 1
    /// The sender has taken so many values.
    case credit = 2
    /// The link is over.
    case close = 3
  }

  /// What a value holds beside a frame's bytes.
  static let overhead = 4

  /// The number the central gave the link.
  var link: UInt16
  var kind: Kind
  var number: UInt8 = 0
  var bytes: [UInt8] = []

  init(link: UInt16, kind: Kind, number: UInt8 = 0, bytes: [UInt8] = []) {
    (self.link, self.kind, self.number, self.bytes) = (link, kind, number, bytes)
  }

  /// Reads a value.
  /// - Returns: `nil` for bytes that are none.
  init?(_ value: [UInt8]) {
    guard value.count >= Self.overhead, let kind = Kind(rawValue: value[2]) else { return nil }
    self.init(
      link: UInt16(value[0]) | UInt16(value[1]) << 8, kind: kind, number: value[3],
      bytes: Array(value[Self.overhead...]))
  }

  var encoded: [UInt8] { [UInt8(truncatingIfNeeded: link), UInt8(link >> 8), kind.rawValue, number] + bytes }

  /// Whether it may begin a link: the first thing a central sends is a frame.
  var mayBegin: Bool { number == 0 && (kind == .piece || kind == .last) }
}
