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
  private let adapter: AdapterIdentity
  private let isSo: Condition
  private let tracked: Lock<Set<ObjectPath>>

  init(_ core: SessionCore, _ adapter: AdapterIdentity, where isSo: @escaping Condition) {
    self.core = core
    self.adapter = adapter
    self.isSo = isSo
    tracked = Lock(core.state.withLock { Self.all(at: adapter, in: $0, where: isSo) })
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
      return state.isDevice(device, of: adapter)
    }
    return tracked.withLock { tracked in
      if isIn { return tracked.insert(path).inserted ? [.began(path)] : [] }
      return tracked.remove(path) == nil ? [] : [.ended(path)]
    }
  }

  private func lookAtAll() -> [Change] {
    let now = core.state.withLock { Self.all(at: adapter, in: $0, where: isSo) }
    return tracked.withLock { tracked in
      defer { tracked = now }
      return tracked.subtracting(now).sorted().map(Change.ended) + now.subtracting(tracked).sorted().map(Change.began)
    }
  }

  private static func all(
    at adapter: AdapterIdentity, in state: borrowing SessionCore.State, where isSo: Condition
  ) -> Set<ObjectPath> {
    guard let path = state.path(of: adapter) else { return [] }
    let cache = state.cache
    return Set(
      cache.paths(with: Device.interface, below: path).filter { path in
        cache.properties(path, Device.interface).map(isSo) ?? false
      })
  }
}

extension SessionCore.State {
  /// Returns `true` if a device, by its properties, belongs to an adapter.
  func isDevice(_ device: [String: Value], of adapter: AdapterIdentity) -> Bool {
    device["Adapter"]?.objectPath.map { isObject($0, of: adapter) } ?? false
  }
}
