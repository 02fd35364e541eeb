import DBus

/// What bluetoothd has on the bus: object → interface → property → value.
///
/// A value type that is fed what came over the wire, in order; it does nothing by itself.
struct ObjectCache: Sendable {
  typealias Interfaces = [String: [String: Value]]

  /// What one message changed.
  enum Change: Sendable {
    case added(ObjectPath, interfaces: [String])
    case removed(ObjectPath, interfaces: [String])
    case changed(ObjectPath, interface: String, [String: Value], invalidated: [String])
    /// bluetoothd is there and the cache is filled.
    case serviceUp
    /// bluetoothd is gone, or the bus is; the cache is empty.
    case serviceDown
    /// Everything that was declared is in place again.
    case restored
  }

  private(set) var objects: [ObjectPath: Interfaces] = [:]
  /// Where each interface is: whoever looks for the two adapters must not look through thousands of devices.
  private var places: [String: Set<ObjectPath>] = [:]
  private(set) var heardServices = HeardServices()
  /// Why the last link of a device ended; bluetoothd tells it just before it says that the link is gone.
  private(set) var disconnectReasons: [ObjectPath: DisconnectReason] = [:]

  mutating func replaceAll(_ objects: [ObjectPath: Interfaces]) {
    removeAll()
    self.objects = objects
    for (path, interfaces) in objects {
      for interface in interfaces.keys { places[interface, default: []].insert(path) }
      if let device = interfaces[InterfaceName.device] { heardServices.note(path, device) }
    }
  }

  mutating func removeAll() {
    objects = [:]
    places = [:]
    heardServices = HeardServices()
    disconnectReasons = [:]
  }

  /// Takes an `InterfacesAdded`, `InterfacesRemoved`, `PropertiesChanged` or a device's `Disconnected`.
  /// - Returns: what it changed; `nil` for any other or a malformed signal.
  mutating func apply(_ signal: Signal) -> Change? {
    switch signal.member {
    case "InterfacesAdded":
      guard signal.arguments.count == 2, let path = signal.arguments[0].objectPath else { return nil }
      let added = signal.arguments[1].interfaces
      objects[path, default: [:]].merge(added) { _, new in new }
      for interface in added.keys { places[interface, default: []].insert(path) }
      if let device = added[InterfaceName.device] { heardServices.note(path, device) }
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
      if removed.contains(InterfaceName.device) { heardServices.forget(path) }
      return .removed(path, interfaces: removed)
    case "Disconnected":
      guard signal.interface == InterfaceName.device, objects[signal.path]?[InterfaceName.device] != nil,
        let reason = signal.arguments.first?.string
      else { return nil }
      disconnectReasons[signal.path] = DisconnectReason(named: reason)
      return nil
    default:
      guard let (interface, changed, invalidated) = signal.propertiesChanged else { return nil }
      // Changes of an object we were not told of yet are part of its InterfacesAdded.
      guard objects[signal.path]?[interface] != nil else { return nil }
      merge(changed, into: signal.path, interface)
      for name in invalidated { objects[signal.path]?[interface]?[name] = nil }
      if interface == InterfaceName.device, changed["Connected"]?.bool == true { disconnectReasons[signal.path] = nil }
      return .changed(signal.path, interface: interface, changed, invalidated: invalidated)
    }
  }

  /// Takes all properties of an interface, as `GetAll` tells them.
  /// - Returns: what that changed; `nil` when nothing, or when the object is unknown.
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
      heardServices.note(path, device)
    }
  }

  func properties(_ path: ObjectPath, _ interface: String) -> [String: Value]? {
    objects[path]?[interface]
  }

  /// The objects with an interface, below a path, in order.
  func paths(with interface: String, below root: ObjectPath = .root) -> [ObjectPath] {
    (places[interface] ?? []).filter { $0 != root && $0.isWithin(root) }.sorted()
  }
}
