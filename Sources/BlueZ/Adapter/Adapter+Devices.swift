import DBus

extension Adapter {
  /// The devices bluetoothd knows here: bonded, connected, or heard a short while ago.
  public var devices: [Device] {
    let paths = core.state.withLock { state -> [ObjectPath] in
      guard let adapter = state.path(of: address) else { return [] }
      let cache = state.cache
      return cache.paths(with: Device.interface, below: adapter)
    }
    return paths.map { Device(session: session, path: $0) }
  }

  /// The device at the other end of a link; `nil` when bluetoothd does not know it any more.
  public func device(_ peer: Peer) -> Device? {
    core.property(peer.path, Device.interface, "Address").map { _ in Device(session: session, path: peer.path) }
  }

  /// The device with an address; `nil` when bluetoothd does not know it.
  public func device(_ address: BluetoothAddress) -> Device? { devices.first { $0.address == address } }
}
