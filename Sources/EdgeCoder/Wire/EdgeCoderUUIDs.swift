/// The UUIDs of the EdgeCoder GATT service, as lower-case 8-4-4-4-12 strings, the form BlueZ uses on D-Bus.
///
/// The phone application's own constants hold the same 32 digits with one hyphen in the wrong place
/// (`EC0D-0001-…`), which no Bluetooth stack accepts. On the wire only the digits count; ``normalize(_:)`` reads both.
public enum EdgeCoderUUIDs {
  /// The primary service; what a phone advertises and a central scans for.
  public static let service = "ec0d0001-ec0d-ec0d-ec0d-ec0d0001ec0d"
  /// Requests, central to phone: write and write without response.
  public static let request = "ec0d0002-ec0d-ec0d-ec0d-ec0d0002ec0d"
  /// Replies, phone to central: notify and read.
  public static let response = "ec0d0003-ec0d-ec0d-ec0d-ec0d0003ec0d"
  /// The phone's status, phone to central: notify and read.
  public static let status = "ec0d0004-ec0d-ec0d-ec0d-ec0d0004ec0d"
  /// What the phone says of its v2 link: read. Only where the phone has one; see ``LinkOffer``.
  public static let link = "ec0d0005-ec0d-ec0d-ec0d-ec0d0005ec0d"
  /// Who may ask: read, without encryption; ``AccessPolicy/Mode`` as text. An extension of EdgeBlue: only a phone in a
  /// closed mode has it, and tells a central by it that they have to pair. BlueZ 5.66 tells that in no other way; what
  /// wants an encrypted link and gets none stands still for 30 s.
  public static let access = "ec0d0006-ec0d-ec0d-ec0d-ec0d0006ec0d"

  /// What carries v2 links over GATT: write without response and notify. Only where the phone has that; see
  /// ``LinkOffer``.
  public static let linkValues = "ec0d0007-ec0d-ec0d-ec0d-ec0d0007ec0d"

  /// Brings a 128-bit UUID into the lower-case 8-4-4-4-12 form.
  ///
  /// Accepts the proper form, 32 digits without hyphens, and the shifted form 4-4-4-4-4-12 of the phone application's
  /// source, each in either case.
  /// - Returns: the normal form, or `nil` when the text is none of these.
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

/// The three characteristics of the EdgeCoder service.
public enum EdgeCoderCharacteristic: String, Sendable, Hashable, CaseIterable {
  /// Requests, central to phone.
  case request
  /// Replies, phone to central.
  case response
  /// The phone's status, phone to central.
  case status

  /// The characteristic's UUID, lower case.
  public var uuid: String {
    switch self {
    case .request: EdgeCoderUUIDs.request
    case .response: EdgeCoderUUIDs.response
    case .status: EdgeCoderUUIDs.status
    }
  }
}
