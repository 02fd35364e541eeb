import DBus

extension Adapter {
  /// The devices that bluetoothd knows at this adapter: bonded, connected, or discovered a short while ago.
  public var devices: [Device] {
    let paths = core.state.withLock { state -> [ObjectPath] in
      guard let adapter = state.path(of: identity) else { return [] }
      let cache = state.cache
      return cache.paths(with: Device.interface, below: adapter)
    }
    return paths.map { Device(session: session, path: $0) }
  }

  /// Returns the device of a peer; `nil` when bluetoothd has forgotten it.
  public func device(_ peer: Peer) -> Device? {
    core.property(peer.path, Device.interface, "Address").map { _ in Device(session: session, path: peer.path) }
  }

  /// Returns the device with an address; `nil` when bluetoothd does not know it.
  public func device(_ address: BluetoothAddress) -> Device? { devices.first { $0.address == address } }
}
