public import DBus

/// The identity that distinguishes a device from all others, for as long as that is possible.
///
/// ```swift
/// var names: [DeviceIdentity: String] = [:]
/// for device in adapter.devices { names[device.id] = device.name }
/// ```
public enum DeviceIdentity: Sendable, Hashable, CustomStringConvertible {
  /// A permanent address: a public or static one, or the identity address of a bonded device, to which its private
  /// addresses are resolved.
  case address(BluetoothAddress)
  /// The device's object in bluetoothd, while only a private address is known. The object stays the same as long as
  /// bluetoothd remembers the device, also when the address is resolved.
  case object(ObjectPath)

  /// The address, or the path of the object.
  public var description: String {
    switch self {
    case .address(let address): address.description
    case .object(let path): path.description
    }
  }
}

extension Device: Identifiable {
  /// The identity of the device. It changes once, from `.object` to `.address`, when a private address is resolved; the
  /// event `identityResolved` reports that.
  public var id: DeviceIdentity {
    guard let address, let addressType, !address.isPrivate(addressType) else { return .object(path) }
    return .address(address)
  }
}

extension BluetoothAddress {
  /// Returns `true` if the address is one that its device changes for privacy, as its two most significant bits
  /// indicate (Core Specification 6.B.1.3.2).
  func isPrivate(_ type: AddressType) -> Bool {
    guard type == .random, let first = UInt8(description.prefix(2), radix: 16) else { return false }
    return first >> 6 != 0b11
  }
}
