/// Bytes at a place of an advertisement's element.
public struct AdvertisementPattern: Sendable, Hashable {
  /// Where in the element's content the bytes begin, from 0.
  public var start: Int
  /// The element's AD type.
  public var type: UInt8
  /// The bytes, 1 or more.
  public var bytes: [UInt8]

  /// Makes a pattern; it is checked when it is used.
  public init(start: Int = 0, type: UInt8, bytes: [UInt8]) {
    self.start = start
    self.type = type
    self.bytes = bytes
  }

  /// Data of a manufacturer that begins so.
  public static func manufacturerData(_ company: UInt16, beginsWith bytes: [UInt8] = []) -> AdvertisementPattern {
    AdvertisementPattern(type: 0xff, bytes: [UInt8(company & 0xff), UInt8(company >> 8)] + bytes)
  }

  /// Data of a service that begins so.
  public static func serviceData(_ service: BluetoothUUID, beginsWith bytes: [UInt8] = []) -> AdvertisementPattern {
    let type: UInt8 = [2: 0x16, 4: 0x20][service.advertisedSize] ?? 0x21
    return AdvertisementPattern(type: type, bytes: service.advertisedBytes + bytes)
  }

  /// A service that is the first in its list, whether the list is complete or not.
  public static func firstService(_ service: BluetoothUUID) -> [AdvertisementPattern] {
    let types: [UInt8] = [2: [0x02, 0x03], 4: [0x04, 0x05]][service.advertisedSize] ?? [0x06, 0x07]
    return types.map { AdvertisementPattern(type: $0, bytes: service.advertisedBytes) }
  }

  /// A name that begins so, whether it is complete or not.
  public static func name(beginsWith text: String) -> [AdvertisementPattern] {
    [0x08, 0x09].map { AdvertisementPattern(type: $0, bytes: Array(text.utf8)) }
  }

  /// The last byte there can be in an element of 31 bytes with its two of header, as bluetoothd counts: its start and
  /// length may add up to 31 (src/shared/ad.h, BT_AD_MAX_DATA_LEN). It did not always check that itself
  /// (GHSA-hhgc-hfgf-8m4x), so it must not get more.
  public static let limit = 31

  func check() throws {
    guard start >= 0, start < Self.limit, !bytes.isEmpty, start + bytes.count <= Self.limit else {
      throw BlueZError(
        .invalidArgument, "a pattern of \(bytes.count) bytes from \(start)",
        hint: "it takes 1 byte or more, and start and length together at most \(Self.limit)")
    }
  }
}
