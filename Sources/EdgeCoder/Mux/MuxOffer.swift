/// The description of the v2 mux of a phone: the value of the characteristic ``EdgeCoderUUIDs/muxOffer``.
///
/// ```text
/// version 1 · bearers 1 · PSM 2      little-endian; further bytes belong to later versions
/// ```
///
/// ```swift
/// let offer = MuxOffer(psm: 0x80, hasValues: true)
/// print(MuxOffer(offer.bytes) == offer)  // true
/// ```
public struct MuxOffer: Sendable, Hashable {
  /// The PSM on which the phone accepts L2CAP channels, 0x80 to 0xff; `nil` without L2CAP.
  public var psm: UInt16?
  /// A Boolean value that indicates whether the phone has the characteristic ``EdgeCoderUUIDs/muxValues``.
  public var hasValues: Bool

  private static let l2cap: UInt8 = 1
  private static let gatt: UInt8 = 2

  /// Creates an offer from its fields.
  public init(psm: UInt16?, hasValues: Bool = false) {
    self.psm = psm
    self.hasValues = hasValues
  }

  /// Creates an offer from the value of the characteristic.
  /// - Returns: `nil` for fewer than four bytes, and for a version other than 2.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count >= 4, bytes[0] == MuxTerms.version else { return nil }
    let number = UInt16(bytes[2]) | UInt16(bytes[3]) << 8
    psm = bytes[1] & Self.l2cap != 0 && number != 0 ? number : nil
    hasValues = bytes[1] & Self.gatt != 0
  }

  /// The value of the characteristic for this offer.
  public var bytes: [UInt8] {
    let bearers = (psm == nil ? 0 : Self.l2cap) | (hasValues ? Self.gatt : 0)
    let number = psm ?? 0
    return [MuxTerms.version, bearers, UInt8(truncatingIfNeeded: number), UInt8(number >> 8)]
  }

  /// The bearers of the offer, the preferred one first.
  var bearers: [MuxBearer] { (psm == nil ? [] : [.l2cap]) + (hasValues ? [.gatt] : []) }
}
