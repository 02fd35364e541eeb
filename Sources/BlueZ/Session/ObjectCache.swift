import DBus

/// The objects of bluetoothd on the bus: object → interface → property → value.
///
/// A value type that receives the messages of the wire in order; it has no side effects.
struct ObjectCache: Sendable {
  typealias Interfaces = [String: [String: Value]]

  /// A change of the cache that one message caused.
  enum Change: Sendable {
    case added(ObjectPath, interfaces: [String])
    case removed(ObjectPath, interfaces: [String])
    case changed(ObjectPath, interface: String, [String: Value], invalidated: [String])
    /// bluetoothd is running and the cache is filled.
    case serviceUp
    /// bluetoothd stopped, or the bus is gone; the cache is empty.
    case serviceDown
    /// Everything that was declared is registered again.
    case restored
  }

  private(set) var objects: [ObjectPath: Interfaces] = [:]
  /// The objects with each interface: a search for the two adapters must not visit thousands of devices.
  private var places: [String: Set<ObjectPath>] = [:]
  private(set) var advertisedServices = AdvertisedServices()
  /// The reason why the last connection of a device ended; bluetoothd signals it just before the disconnection.
  private(set) var disconnectReasons: [ObjectPath: DisconnectReason] = [:]

  mutating func replaceAll(_ objects: [ObjectPath: Interfaces]) {
    removeAll()
    self.objects = objects
    // What was heard stays known over a restart of bluetoothd, for the devices that bluetoothd still knows.
    advertisedServices.keep { objects[$0]?[InterfaceName.device] != nil }
    for (path, interfaces) in objects {
      for interface in interfaces.keys { places[interface, default: []].insert(path) }
      if let device = interfaces[InterfaceName.device] { advertisedServices.note(path, device) }
    }
  }

  mutating func removeAll() {
    objects = [:]
    places = [:]
    disconnectReasons = [:]
  }

  /// Applies an `InterfacesAdded`, `InterfacesRemoved`, `PropertiesChanged` or a device's `Disconnected`.
  /// - Returns: The change; `nil` for any other or a malformed signal.
  mutating func apply(_ signal: Signal) -> Change? {
    switch signal.member {
    case "InterfacesAdded":
      guard signal.arguments.count == 2, let path = signal.arguments[0].objectPath else { return nil }
      let added = signal.arguments[1].interfaces
      objects[path, default: [:]].merge(added) { _, new in new }
      for interface in added.keys { places[interface, default: []].insert(path) }
      if let device = added[InterfaceName.device] { advertisedServices.note(path, device) }
      return .added(path, interfaces: added.keys.sorted())
    case "InterfacesRemoved":
      guard signal.arguments.count == 2, let path = signal.arguments[0].objectPath,
        let removed = signal.arguments[1].strings
      else { return nil }
      for interface in removed {
        objects[path]?[interface] = nil
        places[interface]?.remove(path)
      }
      if removed.contains(InterfaceName.device) { disconnectReasons[path] = nil }
      if objects[path]?.isEmpty == true { objects[path] = nil }
      if removed.contains(InterfaceName.device) { advertisedServices.forget(path) }
      return .removed(path, interfaces: removed)
    case "Disconnected":
      guard signal.interface == InterfaceName.device, objects[signal.path]?[InterfaceName.device] != nil,
        let reason = signal.arguments.first?.string
      else { return nil }
      disconnectReasons[signal.path] = DisconnectReason(named: reason)
      return nil
    default:
      guard let (interface, changed, invalidated) = signal.propertiesChanged else { return nil }
      // Changes of an object that was not added yet are part of its InterfacesAdded.
      guard objects[signal.path]?[interface] != nil else { return nil }
      merge(changed, into: signal.path, interface)
      for name in invalidated { objects[signal.path]?[interface]?[name] = nil }
      if interface == InterfaceName.device, changed["Connected"]?.bool == true { disconnectReasons[signal.path] = nil }
      return .changed(signal.path, interface: interface, changed, invalidated: invalidated)
    }
  }

  /// Applies all properties of an interface, as `GetAll` returns them.
  /// - Returns: The change; `nil` when nothing changed, or when the object is unknown.
  mutating func refresh(_ path: ObjectPath, _ interface: String, _ properties: [String: Value]) -> Change? {
    guard let known = objects[path]?[interface] else { return nil }
    let changed = properties.filter { known[$0.key] != $0.value }
    guard !changed.isEmpty else { return nil }
    merge(changed, into: path, interface)
    return .changed(path, interface: interface, changed, invalidated: [])
  }

  private mutating func merge(_ changed: [String: Value], into path: ObjectPath, _ interface: String) {
    objects[path]?[interface]?.merge(changed) { _, new in new }
    if interface == InterfaceName.device, changed["UUIDs"] != nil, let device = objects[path]?[interface] {
      advertisedServices.note(path, device)
    }
  }

  func properties(_ path: ObjectPath, _ interface: String) -> [String: Value]? {
    objects[path]?[interface]
  }

  /// Returns the first object in order with an interface below a path that satisfies a condition, without sorting all.
  func firstPath(with interface: String, below root: ObjectPath, where isSo: (ObjectPath) -> Bool) -> ObjectPath? {
    var first: ObjectPath?
    for path in places[interface] ?? [] where path != root && path.isWithin(root) {
      if first.map({ path < $0 }) ?? true, isSo(path) { first = path }
    }
    return first
  }

  /// Returns the objects with an interface below a path, in order.
  func paths(with interface: String, below root: ObjectPath = .root) -> [ObjectPath] {
    (places[interface] ?? []).filter { $0 != root && $0.isWithin(root) }.sorted()
  }
}
