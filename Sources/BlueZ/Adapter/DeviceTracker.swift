import DBus
import Streams

/// Follows which devices of an adapter are in a state, such as connected, from the changes of the cache.
///
/// Each change costs the same, however many devices there are.
final class DeviceTracker: Sendable {
  enum Change: Sendable, Hashable {
    /// The device is in the state now.
    case began(ObjectPath)
    /// The device is no longer in the state.
    case ended(ObjectPath)
  }

  typealias Condition = @Sendable ([String: Value]) -> Bool

  private let core: SessionCore
  private let address: BluetoothAddress
  private let isSo: Condition
  private let tracked: Lock<Set<ObjectPath>>

  init(_ core: SessionCore, _ address: BluetoothAddress, where isSo: @escaping Condition) {
    self.core = core
    self.address = address
    self.isSo = isSo
    tracked = Lock(core.state.withLock { Self.all(at: address, in: $0, where: isSo) })
  }

  /// Returns what a change of the cache has begun and ended.
  func note(_ change: ObjectCache.Change) -> [Change] {
    switch change {
    case .added(let path, let interfaces), .removed(let path, let interfaces):
      if interfaces.contains(Device.interface) { return look(at: path) }
      return interfaces.contains(Adapter.interface) ? lookAtAll() : []
    case .changed(let path, Device.interface, _, _): return look(at: path)
    case .serviceUp, .serviceDown: return lookAtAll()
    case .changed, .restored: return []
    }
  }

  private func look(at path: ObjectPath) -> [Change] {
    let isIn = core.state.withLock { state -> Bool in
      guard let device = state.cache.properties(path, Device.interface), isSo(device) else { return false }
      return state.isDevice(device, of: address)
    }
    return tracked.withLock { tracked in
      if isIn { return tracked.insert(path).inserted ? [.began(path)] : [] }
      return tracked.remove(path) == nil ? [] : [.ended(path)]
    }
  }

  private func lookAtAll() -> [Change] {
    let now = core.state.withLock { Self.all(at: address, in: $0, where: isSo) }
    return tracked.withLock { tracked in
      defer { tracked = now }
      return tracked.subtracting(now).sorted().map(Change.ended) + now.subtracting(tracked).sorted().map(Change.began)
    }
  }

  private static func all(
    at address: BluetoothAddress, in state: borrowing SessionCore.State, where isSo: Condition
  ) -> Set<ObjectPath> {
    guard let adapter = state.path(of: address) else { return [] }
    let cache = state.cache
    return Set(
      cache.paths(with: Device.interface, below: adapter).filter { path in
        cache.properties(path, Device.interface).map(isSo) ?? false
      })
  }
}

extension SessionCore.State {
  /// Returns `true` if a device, by its properties, belongs to the adapter with an address.
  func isDevice(_ device: [String: Value], of address: BluetoothAddress) -> Bool {
    guard let adapter = device["Adapter"]?.objectPath else { return false }
    return cache.properties(adapter, InterfaceName.adapter)?["Address"]?.string == address.description
  }
}
