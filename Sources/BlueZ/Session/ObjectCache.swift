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
      narrowToLE(path)
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
      narrowToLE(path)
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
      return disconnected(signal)
    default:
      guard let (interface, changed, invalidated) = signal.propertiesChanged else { return nil }
      return apply(changed, invalidated, to: signal.path, interface)
    }
  }

  private mutating func apply(
    _ properties: [String: Value], _ invalidated: [String], to path: ObjectPath, _ interface: String
  ) -> Change? {
    // Changes of an object that was not added yet are part of its InterfacesAdded.
    guard objects[path]?[interface] != nil else { return nil }
    var changed = properties
    if interface == InterfaceName.device { keepClassicOut(of: &changed, path) }
    merge(changed, into: path, interface)
    for name in invalidated { objects[path]?[interface]?[name] = nil }
    if interface == InterfaceName.bearerLE, changed["Connected"]?.bool == true, let begun = setConnected(true, path) {
      return begun
    }
    if interface == InterfaceName.device, changed["Connected"]?.bool == true { disconnectReasons[path] = nil }
    guard !changed.isEmpty || !invalidated.isEmpty else { return nil }
    return .changed(path, interface: interface, changed, invalidated: invalidated)
  }

  /// Applies all properties of an interface, as `GetAll` returns them.
  /// - Returns: The change; `nil` when nothing changed, or when the object is unknown.
  mutating func refresh(_ path: ObjectPath, _ interface: String, _ properties: [String: Value]) -> Change? {
    guard let known = objects[path]?[interface] else { return nil }
    var changed = properties.filter { known[$0.key] != $0.value }
    if interface == InterfaceName.device { keepClassicOut(of: &changed, path) }
    guard !changed.isEmpty else { return nil }
    merge(changed, into: path, interface)
    if interface == InterfaceName.bearerLE, let isLinked = changed["Connected"]?.bool,
      let link = setConnected(isLinked, path)
    {
      return link
    }
    return .changed(path, interface: interface, changed, invalidated: [])
  }

  private mutating func merge(_ changed: [String: Value], into path: ObjectPath, _ interface: String) {
    objects[path]?[interface]?.merge(changed) { _, new in new }
    if interface == InterfaceName.device, changed["UUIDs"] != nil, let device = objects[path]?[interface] {
      advertisedServices.note(path, device)
    }
  }

  // MARK: Links over LE and Classic

  // `Device1.Connected` is true over either. Where bluetoothd has `Bearer.LE1` (`bluetoothd -E` from 5.84 on), the cache
  // has the link over LE alone there, so that a headset that plays music is not taken for a peripheral in use.

  /// A Boolean value that indicates whether a device is linked over LE; `nil` where bluetoothd does not say.
  private func isLinkedOverLE(_ path: ObjectPath) -> Bool? {
    objects[path]?[InterfaceName.bearerLE]?["Connected"]?.bool
  }

  private mutating func narrowToLE(_ path: ObjectPath) {
    if isLinkedOverLE(path) == false { _ = setConnected(false, path) }
  }

  /// Leaves out of a device's changes what is of Classic. A link over LE begins with its bearer's property, and ends with
  /// the bearer's signal, which has the reason, or with the last link.
  private func keepClassicOut(of changed: inout [String: Value], _ path: ObjectPath) {
    guard isLinkedOverLE(path) != nil, let isConnected = changed["Connected"]?.bool else { return }
    let wasConnected = objects[path]?[InterfaceName.device]?["Connected"]?.bool == true
    if isConnected || !wasConnected { changed["Connected"] = nil }
  }

  /// - Returns: The change of the device; `nil` when there is none.
  private mutating func setConnected(_ isConnected: Bool, _ path: ObjectPath) -> Change? {
    guard let device = objects[path]?[InterfaceName.device], device["Connected"]?.bool != isConnected else {
      return nil
    }
    objects[path]?[InterfaceName.device]?["Connected"] = .bool(isConnected)
    if isConnected { disconnectReasons[path] = nil }
    return .changed(path, interface: InterfaceName.device, ["Connected": .bool(isConnected)], invalidated: [])
  }

  /// Applies a `Disconnected` of a device, which comes before the change of its property, or of its bearer, which comes
  /// after it.
  private mutating func disconnected(_ signal: Signal) -> Change? {
    guard objects[signal.path]?[InterfaceName.device] != nil, let reason = signal.arguments.first?.string else {
      return nil
    }
    switch signal.interface {
    case InterfaceName.device:
      // With a bearer, this is the end of the last link, which may be one over Classic.
      let isOfLE = isLinkedOverLE(signal.path) == nil || disconnectReasons[signal.path] == nil
      if isOfLE { disconnectReasons[signal.path] = DisconnectReason(named: reason) }
      return nil
    case InterfaceName.bearerLE:
      disconnectReasons[signal.path] = DisconnectReason(named: reason)
      return setConnected(false, signal.path)
    default: return nil
    }
  }

  /// The interface whose `Disconnect` ends a device's link over LE, and leaves one over Classic.
  func interfaceToDisconnect(_ path: ObjectPath) -> String {
    let isOverBoth =
      isLinkedOverLE(path) != nil && objects[path]?[InterfaceName.bearerClassic]?["Connected"]?.bool == true
    return isOverBoth ? InterfaceName.bearerLE : InterfaceName.device
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
