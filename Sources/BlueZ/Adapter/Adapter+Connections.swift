public import Streams

extension Adapter {
  /// A link to this adapter, in either role, came or went.
  public enum ConnectionEvent: Sendable, Hashable {
    /// A device is connected.
    case connected(Peer)
    /// A device is no longer connected. When bluetoothd goes, this is told for everyone who was. The reason is `nil`
    /// then, and where bluetoothd tells none (before 5.83).
    case disconnected(Peer, DisconnectReason?)
  }

  /// Who is connected to this adapter now.
  public var connectedPeers: [Peer] {
    core.state.withLock { Self.connectedPeers(of: address, in: $0) }.sorted { $0.path < $1.path }
  }

  /// The links that come and go from now on; what a GATT server learns its centrals from.
  public func connectionEvents(limit: Int = 256) -> BoundedStream<ConnectionEvent> {
    let core = core
    let address = address
    let linked = Lock(core.state.withLock { Self.connectedPeers(of: address, in: $0) })
    return core.streams(limit: limit) { _ in
      let now = core.state.withLock { Self.connectedPeers(of: address, in: $0) }
      return linked.withLock { linked in
        guard linked != now else { return [] }
        defer { linked = now }
        let reasons = core.state.withLock { $0.cache.disconnectReasons }
        return linked.subtracting(now).map { .disconnected($0, reasons[$0.path]) }
          + now.subtracting(linked).map(ConnectionEvent.connected)
      }
    }
  }

  static func connectedPeers(of address: BluetoothAddress, in state: borrowing SessionCore.State) -> Set<Peer> {
    guard let adapter = state.path(of: address) else { return [] }
    let cache = state.cache
    return Set(
      cache.paths(with: Device.interface, below: adapter)
        .filter { cache.properties($0, Device.interface)?["Connected"]?.bool == true }
        .map(Peer.init(path:)))
  }
}
