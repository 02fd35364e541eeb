public import DBus

extension Adapter {
  /// What a scan is to find.
  public struct DiscoveryFilter: Sendable, Hashable {
    /// Devices that advertise one of these services; empty finds all.
    public var services: Set<BluetoothUUID>
    /// Whether every advertisement counts, or only those that bring something new.
    public var duplicates: Bool

    /// Makes a filter.
    public init(services: Set<BluetoothUUID> = [], duplicates: Bool = false) {
      self.services = services
      self.duplicates = duplicates
    }
  }

  /// A device was seen, or is no longer.
  public struct Sighting: Sendable, Hashable {
    /// The device.
    public var device: Device
    /// The signal strength in dBm; `nil` when the controller did not measure it.
    public var rssi: Int?
    /// Whether bluetoothd has forgotten the device since; it is then not to be connected to.
    public var isLost: Bool
  }

  /// Scans for LE devices, until the stream's reader stops.
  ///
  /// Several scans of one session share one discovery in bluetoothd. A scan is declared: it goes on after a restart of
  /// bluetoothd or a power cycle.
  /// - Parameters:
  ///   - filter: what to find.
  ///   - limit: how many sightings may wait for the reader; beyond that the oldest go.
  /// - Throws: ``BlueZError`` with code `.notPowered`, `.noAdapter`, `.inProgress` or `.notPermitted`.
  public func discover(
    _ filter: DiscoveryFilter = DiscoveryFilter(), limit: Int = 256
  ) async throws -> BoundedStream<Sighting> {
    let (core, address, session) = (core, address, session)
    _ = try requirePath()
    guard isPowered else {
      throw BlueZError(.notPowered, "\(name ?? address.description) is switched off", hint: "power it first")
    }
    let registration = core.state.withLock { state in
      let shared = state.discoveries[address] ?? DiscoveryRegistration(core: core, adapter: address)
      state.discoveries[address] = shared
      return shared
    }

    let observer = Lock<Int?>(nil)
    let user = registration.newUser()
    let (stream, source) = BoundedStream.make(
      of: Sighting.self, limit: limit,
      onTermination: {
        if let id = observer.withLock({ $0 }) { core.stopObserving(id) }
        registration.remove(user)
      })
    let id = core.observe { change in
      guard let sighting = Self.sighting(in: change, filter, address, session) else { return }
      source.yield(sighting)
    }
    observer.withLock { $0 = id }
    do {
      try await registration.add(user, filter)
    } catch {
      source.finish()
      throw error
    }
    // What is in the air already has an RSSI; the rest of the cache may be gone for days.
    let present = core.state.withLock { state -> [ObjectPath] in
      guard let adapter = Self.path(of: address, in: state) else { return [] }
      let cache = state.cache
      return cache.paths(with: Device.interface, below: adapter).filter {
        cache.properties($0, Device.interface)?["RSSI"] != nil
      }
    }
    for path in present {
      if let sighting = Self.sighting(of: path, filter, session) { source.yield(sighting) }
    }
    return stream
  }

  /// The properties of a device that change with an advertisement.
  private static let advertised: Set<String> = [
    "RSSI", "TxPower", "ManufacturerData", "ServiceData", "AdvertisingData", "AdvertisingFlags", "UUIDs", "Name",
  ]

  private static func sighting(
    in change: ObjectCache.Change, _ filter: DiscoveryFilter, _ address: BluetoothAddress, _ session: Session
  ) -> Sighting? {
    let path: ObjectPath
    var isHeard = false
    switch change {
    case .added(let added, let interfaces) where interfaces.contains(Device.interface): path = added
    case .changed(let changed, Device.interface, let properties, _)
    where !advertised.isDisjoint(with: properties.keys):
      path = changed
      isHeard = properties["RSSI"] != nil
    case .removed(let removed, let interfaces) where interfaces.contains(Device.interface):
      guard let adapter = Adapter.path(of: address, session.core), removed.isWithin(adapter) else { return nil }
      return Sighting(device: Device(session: session, path: removed), rssi: nil, isLost: true)
    default: return nil
    }
    guard let adapter = Adapter.path(of: address, session.core), path.isWithin(adapter) else { return nil }
    return sighting(of: path, filter, session, isHeard: isHeard)
  }

  /// - Parameter isHeard: whether the device advertised just now.
  private static func sighting(
    of path: ObjectPath, _ filter: DiscoveryFilter, _ session: Session, isHeard: Bool = false
  ) -> Sighting? {
    let device = Device(session: session, path: path)
    guard filter.services.isEmpty || matches(device, filter.services, isHeard: isHeard) else { return nil }
    return Sighting(device: device, rssi: device.rssi, isLost: false)
  }

  /// Whether a device advertises one of the services. bluetoothd filters too, but merges the filters of all its clients.
  ///
  /// Once its GATT services were read, bluetoothd no longer updates a device's UUIDs from its advertisements, and a
  /// service that was gone for a while stays missing. Such a device is given the benefit of the doubt when it was heard
  /// through the filter just now; whoever connects finds out.
  private static func matches(_ device: Device, _ services: Set<BluetoothUUID>, isHeard: Bool) -> Bool {
    let known = device.advertisedServices
    return !known.isDisjoint(with: services)
      || (isHeard && !device.isConnected && known.contains(genericAttribute))
  }

  /// The Generic Attribute service, which every GATT server has and nobody advertises.
  private static let genericAttribute = BluetoothUUID(short: 0x1801)
}
