/// What a phone says of its v2 link: the value of the characteristic ``EdgeCoderUUIDs/link``.
///
/// ```
/// version 1 · bearers 1 · PSM 2      little-endian; what follows belongs to later versions
/// ```
public struct LinkOffer: Sendable, Hashable {
  /// The PSM on which the phone listens for L2CAP channels; `nil` when it does not.
  public var psm: UInt16?
  /// Whether it has the characteristic ``EdgeCoderUUIDs/linkValues``.
  public var hasValues: Bool

  private static let l2cap: UInt8 = 1
  private static let gatt: UInt8 = 2

  /// Makes an offer.
  public init(psm: UInt16?, hasValues: Bool = false) {
    self.psm = psm
    self.hasValues = hasValues
  }

  /// Reads an offer.
  /// - Returns: `nil` for a version that is not ours, or bytes that are no offer.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count >= 4, bytes[0] == LinkTerms.version else { return nil }
    let number = UInt16(bytes[2]) | UInt16(bytes[3]) << 8
    psm = bytes[1] & Self.l2cap != 0 && number != 0 ? number : nil
    hasValues = bytes[1] & Self.gatt != 0
  }

  /// The offer as bytes.
  public var bytes: [UInt8] {
    let bearers = (psm == nil ? 0 : Self.l2cap) | (hasValues ? Self.gatt : 0)
    let number = psm ?? 0
    return [LinkTerms.version, bearers, UInt8(truncatingIfNeeded: number), UInt8(number >> 8)]
  }

  /// What it offers, the best first.
  var bearers: [LinkBearer] { (psm == nil ? [] : [.l2cap]) + (hasValues ? [.gatt] : []) }
}
