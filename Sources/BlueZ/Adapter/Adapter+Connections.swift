public import Streams

extension Adapter {
  /// A connection to this adapter, in either role, that was established or ended.
  public enum ConnectionEvent: Sendable, Hashable {
    /// A device is now connected to this adapter.
    case connected(Peer)
    /// A device is no longer connected. When bluetoothd stops, the event comes for every connected device. The reason
    /// is `nil` then, and before BlueZ 5.83, which does not report it.
    case disconnected(Peer, DisconnectReason?)
  }

  /// The peers that are connected to this adapter now.
  public var connectedPeers: [Peer] {
    core.state.withLock { Self.connectedPeers(of: identity, in: $0) }.sorted { $0.path < $1.path }
  }

  /// Returns the connections that are established and ended from now on; a GATT server learns of its centrals by them.
  ///
  /// ```swift
  /// for await case .connected(let peer) in adapter.connectionEvents() { print(peer, "connected") }
  /// ```
  /// - Parameter limit: The capacity of the stream; when it is full the oldest events are dropped.
  public func connectionEvents(limit: Int = 256) -> BoundedStream<ConnectionEvent> {
    let tracker = DeviceTracker(core, identity) { $0["Connected"]?.bool == true }
    return core.streams(limit: limit) { [core] change in
      tracker.note(change).map { change in
        switch change {
        case .began(let path): .connected(Peer(path: path))
        case .ended(let path):
          .disconnected(Peer(path: path), core.state.withLock { $0.cache.disconnectReasons[path] })
        }
      }
    }
  }

  /// Returns the connections of this adapter, read from the kernel. Needs no privilege, but a network namespace with
  /// Bluetooth: a container has none of its own.
  /// - Throws: ``BlueZError``: `.noAdapter`; `.notSupported` or `.notPermitted` when the kernel does not permit the
  ///   request.
  public func connections() throws -> [ConnectionInfo] {
    let doing = "reading the connections of \(address) from the kernel"
    guard let index = try requirePath().controllerIndex else {
      throw BlueZError(.noAdapter, doing)
    }
    return try core.kernel.connections(index, doing)
  }

  static func connectedPeers(of identity: AdapterIdentity, in state: borrowing SessionCore.State) -> Set<Peer> {
    guard let adapter = state.path(of: identity) else { return [] }
    let cache = state.cache
    return Set(
      cache.paths(with: Device.interface, below: adapter)
        .filter { cache.properties($0, Device.interface)?["Connected"]?.bool == true }
        .map(Peer.init(path:)))
  }
}
