internal import DBus
public import Streams

extension Device {
  /// The ATT MTU of the connection, in bytes; `nil` without a connection, before its services are read, or when
  /// bluetoothd (before 5.62) does not report it. BlueZ negotiates the MTU by itself, once for each connection.
  public var mtu: Int? {
    core.state.withLock { state in
      guard state.generation == generation, let device = state.cache.properties(path, Self.interface),
        device["Connected"]?.bool == true, device["ServicesResolved"]?.bool == true
      else { return nil }
      let cache = state.cache
      return Self.characteristicWithMTU(of: path, in: cache).flatMap { Self.mtu(cache, $0) }
    }
  }

  /// The largest length of a notification, and of a write without response, in bytes: MTU − 3, at most 512; 20 until
  /// the MTU is known.
  public var longestValue: Int {
    Self.longestValue(mtu ?? AttributeLimits.smallestMTU)
  }

  static func longestValue(_ mtu: Int) -> Int { min(mtu - 3, AttributeLimits.value) }

  /// Returns the ATT MTU of this connection and of all later ones, in bytes: first the present one, if it is known, and
  /// then each that differs from its predecessor. The stream finishes when bluetoothd stops.
  /// - Parameter limit: The capacity of the stream; when it is full the oldest values are dropped.
  public func mtus(limit: Int = 16) -> BoundedStream<Int> {
    let device = self
    let core = core
    let last = Lock<Int?>(nil)
    let observer = Lock<Int?>(nil)
    let (stream, source) = BoundedStream.make(
      of: Int.self, limit: limit,
      onTermination: { if let id = observer.withLock({ $0 }) { core.stopObserving(id) } })
    let tell = { @Sendable in if let mtu = device.newMTU(after: last) { source.yield(mtu) } }
    let id = core.observe { change in
      switch change {
      case .changed(device.path, Self.interface, _, _): tell()
      case .changed(let path, RemoteCharacteristic.interface, let changed, _):
        if changed["MTU"] != nil, path.isWithin(device.path) { tell() }
      case .serviceDown: source.finish()
      default: break
      }
    }
    observer.withLock { $0 = id }
    tell()
    return stream
  }

  private func newMTU(after last: Lock<Int?>) -> Int? {
    let mtu = mtu
    return last.withLock { last in
      guard let mtu, mtu != last else { return nil }
      last = mtu
      return mtu
    }
  }

  /// Reads the MTU again: bluetoothd does not signal it for services that it remembers from an earlier connection.
  func refreshMTU() async throws {
    let device = path
    let told = core.state.withLock { Self.characteristicWithMTU(of: device, in: $0.cache) }
    guard let told else { return }
    try await core.refresh(told, RemoteCharacteristic.interface, doing: "reading the MTU of \(peer)")
  }

  private static func characteristicWithMTU(of device: ObjectPath, in cache: ObjectCache) -> ObjectPath? {
    // Always the same one, which is the one that is read again.
    cache.firstPath(with: RemoteCharacteristic.interface, below: device) { mtu(cache, $0) != nil }
  }

  private static func mtu(_ cache: ObjectCache, _ path: ObjectPath) -> Int? {
    cache.properties(path, RemoteCharacteristic.interface)?["MTU"]?.integer(as: Int.self)
  }
}
