public import DBus

/// The device at the other end of a connection, as a GATT server identifies it.
///
/// ```swift
/// let peers = adapter.connectedPeers
/// print(peers.compactMap { adapter.device($0)?.name })
/// ```
public struct Peer: Sendable, Hashable, CustomStringConvertible {
  /// The device's object in bluetoothd; it stays the same while a private address changes.
  public let path: ObjectPath

  /// Creates a peer from the path of its object.
  public init(path: ObjectPath) { self.path = path }

  /// The address in the path, which is the one that the peer had when bluetoothd first saw it.
  public var address: BluetoothAddress? {
    let element = path.lastElement
    guard element.hasPrefix("dev_") else { return nil }
    return BluetoothAddress(String(element.dropFirst(4)).replacing("_", with: ":"))
  }

  /// The address, or the path where that has none.
  public var description: String { address?.description ?? path.description }
}
