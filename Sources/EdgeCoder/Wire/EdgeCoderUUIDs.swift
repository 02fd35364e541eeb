/// The UUIDs of the EdgeCoder GATT service, in the lower-case 8-4-4-4-12 form that BlueZ uses on D-Bus.
///
/// The constants of the phone application have the same 32 digits with one hyphen in the wrong place (`EC0D-0001-…`),
/// which no Bluetooth stack accepts. Only the digits are sent; ``normalize(_:)`` reads both forms.
///
/// ```swift
/// print(EdgeCoderUUIDs.normalize("EC0D-0001-EC0D-EC0D-EC0D-EC0D0001EC0D") == EdgeCoderUUIDs.service)  // true
/// ```
public enum EdgeCoderUUIDs {
  /// The primary service, which a phone advertises and for which a central scans.
  public static let service = "ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d"
  /// The characteristic for requests to the phone: write, write without response.
  public static let request = "ec0d0002-ec0d-ec0d-ec0d-ec0d0002ec0d"
  /// The characteristic for replies from the phone: notify, read.
  public static let response = "ec0d0003-ec0d-ec0d-ec0d-ec0d0003ec0d"
  /// The characteristic for the status of the phone: notify, read.
  public static let status = "ec0d0004-ec0d-ec0d-ec0d-ec0d0004ec0d"
  /// The characteristic that describes the v2 mux of the phone: read. Present only if the phone offers the mux.
  ///
  /// Its value is a ``MuxOffer``.
  public static let muxOffer = "ec0d0005-ec0d-ec0d-ec0d-ec0d0005ec0d"
  /// The characteristic that contains the ``AccessMode`` of the phone as text: read, without encryption.
  ///
  /// The characteristic is an extension of EdgeBlue, present in the modes `encrypted` and `authenticated`. BlueZ 5.66 has
  /// no other way to tell a central that it must pair: an operation that demands encryption blocks there for 30 s.
  public static let access = "ec0d0006-ec0d-ec0d-ec0d-ec0d0006ec0d"
  /// The characteristic that carries the v2 mux over GATT: write without response, notify.
  ///
  /// Present only if the phone offers the mux over GATT; see ``MuxOffer``.
  public static let muxValues = "ec0d0007-ec0d-ec0d-ec0d-ec0d0007ec0d"

  /// Returns a 128-bit UUID in the lower-case 8-4-4-4-12 form.
  ///
  /// The text may have that form, the shifted form 4-4-4-4-4-12 of the phone application, or 32 digits without hyphens,
  /// in upper or lower case.
  /// - Returns: The normalized UUID, or `nil` for any other text.
  public static func normalize(_ text: String) -> String? {
    let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false).map(\.count)
    guard groups == [8, 4, 4, 4, 12] || groups == [4, 4, 4, 4, 4, 12] || groups == [32] else { return nil }
    let digits = text.lowercased().utf8.filter { $0 != UInt8(ascii: "-") }
    guard digits.count == 32, digits.allSatisfy(isHexDigit) else { return nil }
    var normal: [UInt8] = []
    for (index, digit) in digits.enumerated() {
      if [8, 12, 16, 20].contains(index) { normal.append(UInt8(ascii: "-")) }
      normal.append(digit)
    }
    return String(decoding: normal, as: UTF8.self)
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }
}

/// The three characteristics that every EdgeCoder service has.
public enum EdgeCoderCharacteristic: String, Sendable, Hashable, CaseIterable {
  /// The characteristic for requests to the phone.
  case request
  /// The characteristic for replies from the phone.
  case response
  /// The characteristic for the status of the phone.
  case status

  /// The UUID of the characteristic in lower case.
  public var uuid: String {
    switch self {
    case .request: EdgeCoderUUIDs.request
    case .response: EdgeCoderUUIDs.response
    case .status: EdgeCoderUUIDs.status
    }
  }
}
