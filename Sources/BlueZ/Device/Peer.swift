public import DBus

/// Somebody at the other end of a link, as a GATT server sees them.
public struct Peer: Sendable, Hashable, CustomStringConvertible {
  /// The device's object in bluetoothd; it stays the same while a private address changes.
  public let path: ObjectPath

  /// Names a peer by its object.
  public init(path: ObjectPath) { self.path = path }

  /// The address in the path, as the peer had it when bluetoothd first saw it.
  public var address: BluetoothAddress? {
    let element = path.lastElement
    guard element.hasPrefix("dev_") else { return nil }
    return BluetoothAddress(String(element.dropFirst(4)).replacing("_", with: ":"))
  }

  /// The address, or the path.
  public var description: String { address?.description ?? path.description }
}
