/// One value of a v2 mux over GATT, written or notified: `docs/v2-mux.md`, section 4.
///
/// ```text
/// mux 2 · kind 1 · number 1 · bytes …      little-endian
/// ```
package struct MuxValue: Sendable, Hashable {
  package enum Kind: UInt8, Sendable {
    /// The start or the middle of a frame; the number counts values of this kind and of `last` from 0.
    case piece = 0
    /// The end of a frame, or a whole frame.
    case last = 1
    /// Credit for the values that the sender has taken since its last credit.
    case credit = 2
    /// The mux is closed.
    case close = 3
  }

  /// The number of bytes of a value before the bytes of the frame.
  static let overhead = 4

  /// The number that the central chose for the mux.
  package var mux: UInt16
  package var kind: Kind
  package var number: UInt8 = 0
  package var bytes: [UInt8] = []

  package init(mux: UInt16, kind: Kind, number: UInt8 = 0, bytes: [UInt8] = []) {
    self.mux = mux
    self.kind = kind
    self.number = number
    self.bytes = bytes
  }

  /// Reads a value.
  /// - Returns: `nil` for fewer than four bytes, and for an unknown kind.
  package init?(_ value: [UInt8]) {
    guard value.count >= Self.overhead, let kind = Kind(rawValue: value[2]) else { return nil }
    self.init(
      mux: UInt16(value[0]) | UInt16(value[1]) << 8, kind: kind, number: value[3],
      bytes: Array(value[Self.overhead...]))
  }

  /// The value as bytes.
  package var encoded: [UInt8] { [UInt8(truncatingIfNeeded: mux), UInt8(mux >> 8), kind.rawValue, number] + bytes }

  /// A Boolean value that indicates whether the value may start a mux: a central sends a frame first.
  var mayStart: Bool { number == 0 && (kind == .piece || kind == .last) }
}
