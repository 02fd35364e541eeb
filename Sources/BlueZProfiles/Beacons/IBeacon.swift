#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An iBeacon of Apple's format: manufacturer data of the company 0x004C.
///
/// ```swift
/// let shop = IBeacon(uuid: UUID(), major: 1, minor: 7, measuredPower: -59)
/// let manufacturerData = [IBeacon.company: shop.bytes]
/// print(try IBeacon(bytes: manufacturerData[0x004c] ?? []) == shop)  // true
/// ```
///
/// Apple's devices send other formats under the same company, which are refused with the code `.notSupported`.
public struct IBeacon: Sendable, Hashable {
  /// The company identifier of Apple.
  public static let company: UInt16 = 0x004c
  private static let type: [UInt8] = [0x02, 0x15]

  /// The UUID that the beacons of one operator share.
  public var uuid: UUID
  /// The number of a group of beacons, such as a shop.
  public var major: UInt16
  /// The number of the beacon in its group.
  public var minor: UInt16
  /// The RSSI at a distance of 1 m in dBm.
  public var measuredPower: Int8

  /// Creates a beacon with its numbers.
  public init(uuid: UUID, major: UInt16, minor: UInt16, measuredPower: Int8) {
    self.uuid = uuid
    self.major = major
    self.minor = minor
    self.measuredPower = measuredPower
  }

  /// Creates a beacon from manufacturer data, without the company identifier.
  /// - Throws: ``ProfileError`` with the code `.tooShort`, `.tooLong`, or `.notSupported` for another format of Apple's.
  public init(bytes: [UInt8]) throws(ProfileError) {
    var reader = ByteReader(bytes, "iBeacon")
    guard try reader.bytes(2) == Self.type else {
      throw ProfileError(.notSupported, "iBeacon: the data does not begin with 2 and 21")
    }
    let uuid = try reader.bytes(16)
    self.uuid = uuid.withUnsafeBytes { UUID(uuid: $0.load(as: uuid_t.self)) }
    major = try reader.integer(UInt16.self).byteSwapped
    minor = try reader.integer(UInt16.self).byteSwapped
    measuredPower = try reader.integer()
    try reader.end()
  }

  /// The manufacturer data, without the company identifier.
  public var bytes: [UInt8] {
    let uuid = withUnsafeBytes(of: uuid.uuid) { Array($0) }
    let numbers = major.byteSwapped.littleEndianBytes + minor.byteSwapped.littleEndianBytes
    return Self.type + uuid + numbers + [UInt8(bitPattern: measuredPower)]
  }
}
