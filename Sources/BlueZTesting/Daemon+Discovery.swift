import BlueZ
import DBus

/// Discovery: which adapter receives which advertisement.
extension Daemon {
  func startScan(of client: String, at adapter: VirtualAdapter) throws -> [Value] {
    guard adapter.isPowered else { throw DBusError.notReady }
    try expect(client)
    guard adapter.clients.scans[client] == nil, !adapter.faults.refusesDiscovery() else { throw DBusError.inProgress }
    adapter.clients.scans[client] = adapter.clients.filters[client] ?? ScanFilter()
    adapter.clients.loosenScan()
    adapter.object?.set(Names.adapter, ["Discovering": true])
    lookAround(adapter)
    return []
  }

  func setFilter(_ options: [String: Value], of client: String, at adapter: VirtualAdapter) throws -> [Value] {
    let filter = try ScanFilter(options)
    adapter.clients.filters[client] = filter
    if adapter.clients.scans[client] != nil {
      adapter.clients.scans[client] = filter
      adapter.clients.loosenScan()
      lookAround(adapter)
    }
    return []
  }

  /// - Returns: `true` if the client was scanning.
  @discardableResult
  func stopScan(of client: String, at adapter: VirtualAdapter) -> Bool {
    guard adapter.clients.scans.removeValue(forKey: client) != nil else { return false }
    if adapter.clients.scans.isEmpty {
      // Values that were measured while scanning become unknown.
      for device in adapter.devices.values { device.object.set(Names.device, ["RSSI": nil, "TxPower": nil]) }
      adapter.object?.set(Names.adapter, ["Discovering": false])
    }
    return true
  }

  /// Ends the scan of a client while `Discovering` stays true, see ``Fault/discoverySticks(times:)``.
  func stickScan(of client: String, at adapter: VirtualAdapter) {
    let filters = Array(adapter.clients.scans.values)
    stopScan(of: client, at: adapter)
    guard adapter.clients.scans.isEmpty else { return }
    adapter.clients.stuck = filters
    adapter.object?.set(Names.adapter, ["Discovering": true])
  }

  /// Delivers all present advertisements to an adapter that scans.
  func lookAround(_ adapter: VirtualAdapter) {
    for other in adapters where other !== adapter { hear(other, at: adapter) }
    for address in adapter.strangers.keys.sorted(by: { $0.description < $1.description }) {
      hear(stranger: address, at: adapter)
    }
  }

  /// Delivers an adapter's advertisement to the others: those that scan, and those that want to connect to it.
  func report(_ adapter: VirtualAdapter) {
    for other in adapters where other !== adapter {
      hear(adapter, at: other)
      guard adapter.air?.isConnectable == true else { continue }
      other.devices[adapter.address]?.attempt?.yield(.tryAgain)
      other.attempts.unseen[adapter.address]?.yield(.tryAgain)
      for attempt in other.attempts.channels.values { attempt.yield(.tryAgain) }
    }
  }

  /// Reports to the monitors of the others that an adapter does not advertise any more.
  func fellSilent(_ adapter: VirtualAdapter) {
    guard adapter.air == nil else { return }
    for other in adapters where other !== adapter { lose(adapter.address, at: other) }
  }

  private func hear(_ adapter: VirtualAdapter, at listener: VirtualAdapter) {
    guard let air = adapter.air else { return }
    hear(air, from: adapter.address, rssi: adapter.replay?.rssi ?? configuration.rssi, at: listener)
  }

  func hear(stranger address: BluetoothAddress, at adapter: VirtualAdapter) {
    if let (air, rssi) = adapter.strangers[address] { hear(air, from: address, rssi: rssi, at: adapter) }
  }

  private func hear(_ air: AirAdvertisement, from address: BluetoothAddress, rssi: Int16, at adapter: VirtualAdapter) {
    watch(air, from: address, rssi: rssi, at: adapter)
    let filters = adapter.clients.stuck == nil ? Array(adapter.clients.scans.values) : []
    if configuration.version.crashesOnServiceFilters, !air.services.isEmpty,
      filters.contains(where: { !$0.services.isEmpty })
    {
      return crash()
    }
    let shown = shownAddress(of: address, at: adapter).address
    guard filters.contains(where: { $0.matches(air, shown, rssi: rssi) }) else { return }
    var properties = air.properties(rssi: rssi)
    guard let known = adapter.devices[address] else {
      addDevice(address, properties, at: adapter)
      return
    }
    // Once the services were read, their list is no longer updated from advertisements.
    if !known.mirrored.isEmpty || adapter.faults.has(.advertisedServicesAreIgnored) { properties["UUIDs"] = nil }
    let repeats = adapter.clients.scans.values.contains(where: \.duplicates)
    known.object.set(
      Names.device, properties.mapValues(Optional.some),
      repeating: repeats ? ["RSSI", "ManufacturerData", "ServiceData"] : [])
  }

  @discardableResult
  func addDevice(
    _ address: BluetoothAddress, _ properties: [String: Value], at adapter: VirtualAdapter
  ) -> VirtualDevice? {
    let isBonded = adapter.bonds[address] != nil
    let shown = shownAddress(of: address, at: adapter)
    var values: [String: Value] = [
      "Address": .string(shown.address.description), "AddressType": .string(shown.type),
      "Alias": .string(shown.address.description),
      "Adapter": .objectPath(adapter.path), "Paired": .bool(isBonded), "Bonded": .bool(isBonded), "Trusted": false,
      "Blocked": false, "LegacyPairing": false, "Connected": false, "ServicesResolved": false, "UUIDs": .strings([]),
    ]
    values.merge(properties) { _, new in new }
    do {
      let path = try adapter.path.appending("dev_" + shown.address.description.replacing(":", with: "_"))
      let object = try ServedObject(
        try home(of: adapter), path, [devicePart(address, values, adapter.index)] + bearerParts(address, adapter.index),
        logger: logger)
      let device = VirtualDevice(address: address, object: object)
      adapter.devices[address] = device
      return device
    } catch {
      // The daemon is being killed, so the device is not needed.
      logger.debug("device not added", metadata: ["error": "\(error)"])
      return nil
    }
  }

  /// Returns the address under which an adapter receives a device: a private one is resolved by a bond.
  func shownAddress(of address: BluetoothAddress, at adapter: VirtualAdapter) -> (
    address: BluetoothAddress, type: String
  ) {
    let peer = adapters.first { $0.address == address }
    guard let hidden = peer?.privateAddress, adapter.bonds[address] == nil else { return (address, "public") }
    return (hidden, "random")
  }

  /// Changes the address under which the others receive an adapter. Those that neither know it nor are linked take it for
  /// another device.
  func setPrivateAddress(_ address: BluetoothAddress?, of index: Int) {
    let adapter = adapters[index]
    adapter.privateAddress = address
    for other in adapters where other !== adapter && other.bonds[adapter.address] == nil {
      if let device = other.devices[adapter.address], device.link == nil { forget(device, at: other) }
    }
    report(adapter)
  }

  /// Removes a device.
  func forget(_ device: VirtualDevice, at adapter: VirtualAdapter) {
    end(device, at: adapter, "org.bluez.Reason.Local")
    for (client, monitors) in adapter.clients.monitors {
      for number in monitors.indices { adapter.clients.monitors[client]?[number].found.remove(device.address) }
    }
    adapter.devices[device.address] = nil
    device.remove()
  }
}
