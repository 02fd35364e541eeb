public import DBus

/// What tells a device from all others, for as long as that can be told.
public enum DeviceIdentity: Sendable, Hashable, CustomStringConvertible {
  /// An address that does not change by itself: a public or static one, or that of a bonded device, which its private
  /// addresses are resolved to.
  case address(BluetoothAddress)
  /// The device's object in bluetoothd, while all that is known of a device is a private address: the object stays as
  /// long as bluetoothd remembers the device, also when the address is resolved.
  case object(ObjectPath)

  /// The address, or the path.
  public var description: String {
    switch self {
    case .address(let address): address.description
    case .object(let path): path.description
    }
  }
}

extension Device: Identifiable {
  /// Its identity. It changes once, from `.object` to `.address`, when a private address is resolved; ``Event`` tells
  /// that as `identityResolved`.
  public var id: DeviceIdentity {
    guard let address, let addressType, !address.isPrivate(addressType) else { return .object(path) }
    return .address(address)
  }
}

extension BluetoothAddress {
  /// Whether it is an address that its device changes by itself, in privacy: the two most significant bits say so
  /// (Core Specification 6.B.1.3.2).
  func isPrivate(_ type: AddressType) -> Bool {
    guard type == .random, let first = UInt8(description.prefix(2), radix: 16) else { return false }
    return first >> 6 != 0b11
  }
}
