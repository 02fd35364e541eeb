/// A sequence of bytes at a position of an advertisement's element.
///
/// ```swift
/// let apple = AdvertisementPattern.manufacturerData(0x004c)
/// let lamps = AdvertisementPattern.manufacturerData(0xffff, beginsWith: Array("Lamp".utf8))
/// let monitor = try await adapter.monitor(.init(patterns: [apple, lamps]))
/// ```
public struct AdvertisementPattern: Sendable, Hashable {
  /// The position of the first byte in the element's content, from 0.
  public var start: Int
  /// The AD type of the element.
  public var type: UInt8
  /// The bytes to match, 1 or more.
  public var bytes: [UInt8]

  /// Creates a pattern; it is checked when the monitor starts.
  public init(start: Int = 0, type: UInt8, bytes: [UInt8]) {
    self.start = start
    self.type = type
    self.bytes = bytes
  }

  /// Returns a pattern for manufacturer data with a prefix.
  /// - Parameters:
  ///   - company: The company identifier.
  ///   - bytes: The prefix of the data; empty matches all data of the company.
  public static func manufacturerData(_ company: UInt16, beginsWith bytes: [UInt8] = []) -> AdvertisementPattern {
    AdvertisementPattern(type: 0xff, bytes: [UInt8(company & 0xff), UInt8(company >> 8)] + bytes)
  }

  /// Returns a pattern for service data with a prefix, which BlueZ matches before 5.69 only.
  /// - Parameters:
  ///   - service: The UUID of the service.
  ///   - bytes: The prefix of the data; empty matches all data of the service.
  public static func serviceData(_ service: BluetoothUUID, beginsWith bytes: [UInt8] = []) -> AdvertisementPattern {
    let type: UInt8 = [2: 0x16, 4: 0x20][service.advertisedSize] ?? 0x21
    return AdvertisementPattern(type: type, bytes: service.littleEndian + bytes)
  }

  /// Returns the patterns for a service that is the first of its list, whether the list is complete or not. BlueZ
  /// matches them before 5.69 only.
  public static func firstService(_ service: BluetoothUUID) -> [AdvertisementPattern] {
    let types: [UInt8] = [2: [0x02, 0x03], 4: [0x04, 0x05]][service.advertisedSize] ?? [0x06, 0x07]
    return types.map { AdvertisementPattern(type: $0, bytes: service.littleEndian) }
  }

  /// Returns the patterns for a name with a prefix, whether the advertised name is complete or shortened. BlueZ matches
  /// them before 5.69 only.
  public static func name(beginsWith text: String) -> [AdvertisementPattern] {
    [0x08, 0x09].map { AdvertisementPattern(type: $0, bytes: Array(text.utf8)) }
  }

  /// The largest sum of start and length, 31, as bluetoothd counts (src/shared/ad.h, BT_AD_MAX_DATA_LEN). bluetoothd
  /// did not always check this itself (GHSA-hhgc-hfgf-8m4x), so it must not receive more.
  public static let limit = 31

  /// The types of services (0x02 to 0x07), names (0x08 and 0x09) and service data, which bluetoothd from 5.69 on keeps
  /// apart from what it compares with patterns.
  static let separateTypes: Set<UInt8> = Set(0x02...0x09).union([0x16, 0x20, 0x21])

  func check() throws {
    guard start >= 0, start < Self.limit, !bytes.isEmpty, start + bytes.count <= Self.limit else {
      throw BlueZError(
        .invalidArgument,
        "the pattern has \(bytes.count) bytes from \(start); allowed: 1 byte or more, up to position \(Self.limit)")
    }
  }
}
