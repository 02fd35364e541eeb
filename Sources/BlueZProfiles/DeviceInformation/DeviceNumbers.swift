/// An identifier of a device from its manufacturer: an organization's number and one of its own.
///
/// ```swift
/// let id = try SystemID(bytes: [0x9a, 0x78, 0x56, 0xff, 0xfe, 0xef, 0xcd, 0xab])
/// print(String(id.organization, radix: 16))  // abcdef
/// ```
public struct SystemID: CharacteristicValue {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a23
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "System ID"

  /// The number that the manufacturer chose, of 40 bits.
  public let device: UInt64
  /// The Organizationally Unique Identifier of the manufacturer, of 24 bits.
  public let organization: UInt32

  /// Creates an identifier from its two numbers.
  /// - Throws: ``ProfileError`` with the code `.invalidArgument` when a number has more than its 40 or 24 bits.
  public init(device: UInt64, organization: UInt32) throws(ProfileError) {
    guard device < 1 << 40, organization < 1 << 24 else {
      throw ProfileError(.invalidArgument, "System ID: the device has at most 40 bits, the organization 24")
    }
    self.device = device
    self.organization = organization
  }

  /// Creates an identifier from what was read.
  /// - Throws: ``ProfileError`` with the code `.tooShort`.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    let number = try reader.integer(UInt64.self)
    device = number & 0xff_ffff_ffff
    organization = UInt32(number >> 40)
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] { (UInt64(organization) << 40 | device).littleEndianBytes }
}

/// A number of a product: who made it, which it is, and its version, as on USB.
///
/// ```swift
/// let id = PnPID(source: .bluetooth, vendor: 0x02e5, product: 1, version: 0x0110)
/// print(id.bytes)  // [1, 229, 2, 1, 0, 16, 1]
/// ```
public struct PnPID: CharacteristicValue {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a50
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "PnP ID"

  /// The organization that assigned the number of a vendor.
  public enum Source: UInt8, Sendable, Hashable, CaseIterable {
    /// The Bluetooth SIG: a company identifier.
    case bluetooth = 1
    /// The USB Implementers Forum: a vendor ID.
    case usb = 2
  }

  /// The organization that assigned the vendor's number.
  public var source: Source
  /// The number of the vendor, from its source.
  public var vendor: UInt16
  /// The number of the product, from its vendor.
  public var product: UInt16
  /// The version of the product as 0xJJMN: major, minor and sub-minor number in decimal digits.
  public var version: UInt16

  /// Creates an identifier from its numbers.
  public init(source: Source, vendor: UInt16, product: UInt16, version: UInt16) {
    self.source = source
    self.vendor = vendor
    self.product = product
    self.version = version
  }

  /// Creates an identifier from what was read.
  /// - Throws: ``ProfileError`` with the code `.tooShort`, or `.invalidField` for an unknown source.
  public init(_ reader: inout ByteReader) throws(ProfileError) {
    source = try reader.assigned("source of vendor numbers")
    vendor = try reader.integer()
    product = try reader.integer()
    version = try reader.integer()
  }

  /// The bytes of the value, to be sent.
  public var bytes: [UInt8] {
    [source.rawValue] + vendor.littleEndianBytes + product.littleEndianBytes + version.littleEndianBytes
  }
}
