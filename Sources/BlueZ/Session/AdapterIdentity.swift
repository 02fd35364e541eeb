import DBus

/// The identity of an adapter across its appearances.
///
/// An adapter keeps its address when it comes back under another name. Cheap dongles share one address; of several that
/// are present together, each is known by its object as well.
struct AdapterIdentity: Sendable, Hashable, CustomStringConvertible {
  let address: BluetoothAddress
  /// The object, if another adapter with the address was present when the identity was taken.
  let path: ObjectPath?

  var description: String { path.map { "\(address) (\($0.lastElement))" } ?? "\(address)" }
}

extension SessionCore.State {
  /// Returns the identity of the adapter at an object; `nil` where there is none.
  func identity(at path: ObjectPath) -> AdapterIdentity? {
    guard let address = address(at: path) else { return nil }
    return AdapterIdentity(address: address, path: isOnly(path, with: address) ? nil : path)
  }

  /// Returns the object of an adapter; `nil` while the adapter is absent.
  func path(of adapter: AdapterIdentity) -> ObjectPath? {
    guard let path = adapter.path ?? adapters.home(of: adapter.address), address(at: path) == adapter.address else {
      return nil
    }
    return path
  }

  /// Returns `true` if an object is the adapter's, without a search.
  func isObject(_ path: ObjectPath, of adapter: AdapterIdentity) -> Bool { self.path(of: adapter) == path }

  /// Records the adapter at an object that has just been added.
  mutating func adapterAppeared(at path: ObjectPath) {
    let power = adapterPower(at: path)
    adapters.appeared(path, power, isOnly: power.map { isOnly(path, with: $0.address) } ?? false)
  }

  /// Returns the adapter at an object, with its power.
  func adapterPower(at path: ObjectPath) -> AdapterPower? {
    AdapterPower(path, cache.properties(path, InterfaceName.adapter))
  }

  private func address(at path: ObjectPath) -> BluetoothAddress? {
    cache.properties(path, InterfaceName.adapter)?["Address"]?.string.flatMap(BluetoothAddress.init)
  }

  /// Returns `true` if no other adapter has the address of the one at an object.
  private func isOnly(_ path: ObjectPath, with address: BluetoothAddress) -> Bool {
    !cache.paths(with: InterfaceName.adapter).contains { $0 != path && self.address(at: $0) == address }
  }
}

extension SessionCore {
  /// Returns the object of an adapter; `nil` while the adapter is absent.
  func path(of adapter: AdapterIdentity) -> ObjectPath? { state.withLock { $0.path(of: adapter) } }
}
