/// The address of a Bluetooth device as the controller reports it, with its kind.
///
/// ```swift
/// if let address = DeviceAddress("00:AA:01:00:00:42") { print(address.kind) }  // publicAddress
/// ```
public struct DeviceAddress: Sendable, Hashable, CustomStringConvertible {
  /// The kinds of addresses (Core Specification 6.B.1.3).
  public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
    /// An address that the manufacturer bought from the IEEE.
    case publicAddress = 0
    /// An address that the device chose: static, or private and changing.
    case random = 1
    /// The public address of a bonded device, which the controller found behind a private one.
    case publicIdentity = 2
    /// The static random address of a bonded device, which the controller found behind a private one.
    case randomIdentity = 3
    /// No address: an advertiser that hides its own.
    case anonymous = 255
  }

  /// The six bytes, the most significant one first, as an address is written.
  public let octets: [UInt8]
  /// The kind of the address.
  public let kind: Kind

  /// Creates an address from six bytes, the most significant one first; `nil` for another number of bytes.
  public init?(octets: [UInt8], kind: Kind = .publicAddress) {
    guard octets.count == 6 else { return nil }
    self.octets = octets
    self.kind = kind
  }

  /// Creates an address from its text, such as `00:AA:01:00:00:42`; `nil` for any other text.
  public init?(_ text: some StringProtocol, kind: Kind = .publicAddress) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let octets = parts.compactMap { part in part.utf8.count == 2 ? UInt8(part, radix: 16) : nil }
    guard parts.count == 6, !text.utf8.contains(UInt8(ascii: "+")) else { return nil }
    self.init(octets: octets, kind: kind)
  }

  /// Reads six bytes, the least significant one first, as they are in packets.
  init?(_ reader: inout ByteReader, kind: UInt8?) {
    guard let kind, let bytes = reader.bytes(6) else { return nil }
    // A kind that does not exist yet is some random address.
    self.init(octets: bytes.reversed(), kind: Kind(rawValue: kind) ?? .random)
  }

  /// The six bytes, the least significant one first.
  var littleEndian: [UInt8] { octets.reversed() }

  /// The address in the usual form, such as `00:AA:01:00:00:42`.
  public var description: String {
    var text = ""
    text.reserveCapacity(17)
    for octet in octets {
      if !text.isEmpty { text += ":" }
      let digits = String(octet, radix: 16, uppercase: true)
      if digits.utf8.count < 2 { text += "0" }
      text += digits
    }
    return text
  }

  /// A Boolean value that indicates whether the address is private and resolvable with a key of the device.
  public var isResolvablePrivate: Bool { kind == .random && octets[0] & 0b1100_0000 == 0b0100_0000 }

  /// The address with the kind that it has in packets over the air, where a controller reports an identity.
  var asOnAir: DeviceAddress {
    switch kind {
    case .publicIdentity: DeviceAddress(octets: octets, kind: .publicAddress) ?? self
    case .randomIdentity: DeviceAddress(octets: octets, kind: .random) ?? self
    case .publicAddress, .random, .anonymous: self
    }
  }

  /// Returns `true` for an address with the same bytes, whatever its kind.
  public func matches(_ other: DeviceAddress) -> Bool { octets == other.octets }
}
