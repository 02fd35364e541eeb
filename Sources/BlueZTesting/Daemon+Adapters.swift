import DBus
import Glibc

/// The interface `org.bluez.Adapter1`, and the events of adapters.
extension Daemon {
  /// Exports an adapter on the bus.
  func serve(_ adapter: VirtualAdapter) throws {
    let index = adapter.index
    // With what main.conf says, which is nothing.
    adapter.kernel.controller = VirtualController()
    let part = ServedObject.Part(
      name: Names.adapter,
      types: [
        "Address": "s", "AddressType": "s", "Name": "s", "Alias": "s", "Class": "u", "Powered": "b",
        "Discoverable": "b", "DiscoverableTimeout": "u", "Pairable": "b", "PairableTimeout": "u", "Discovering": "b",
        "UUIDs": "as", "Roles": "as",
      ],
      values: [
        "Address": .string(adapter.address.description), "AddressType": "public", "Name": .string(adapter.name),
        "Alias": .string(adapter.name), "Class": .uint32(0), "Powered": .bool(configuration.switchesOnAdapters),
        "Discoverable": false, "DiscoverableTimeout": .uint32(180), "Pairable": .bool(!defaultAgents.isEmpty),
        "PairableTimeout": .uint32(0), "Discovering": false, "UUIDs": .strings(Self.ownServices),
        "Roles": .strings(["central", "peripheral", "central-peripheral"]),
      ],
      setters: [
        "Powered": setter(index) { daemon, value in
          let adapter = daemon.adapters[index]
          if value.bool == true, adapter.faults.has(.blocked) {
            throw DBusError.bluez("Blocked", "Blocked through rfkill")
          }
          daemon.setPowered(value.bool ?? false, adapter)
        },
        "Alias": property("Alias", index), "Discoverable": property("Discoverable", index),
        "DiscoverableTimeout": property("DiscoverableTimeout", index), "Pairable": property("Pairable", index),
        "PairableTimeout": property("PairableTimeout", index),
      ],
      methods: adapterMethods(index))
    let monitors = configuration.hasMonitors ? [monitorManager(index)] : []
    adapter.object = try ServedObject(
      try home(of: adapter), adapter.path, [part, gattManager(index), advertisingManager(index)] + monitors,
      logger: logger)
  }

  /// The methods of `org.bluez.Adapter1`.
  private nonisolated func adapterMethods(_ index: Int) -> [Interface.Method] {
    [
      method("StartDiscovery", of: index) { try $0.startScan(of: $1.sender ?? "", at: $0.adapters[index]) },
      method("StopDiscovery", of: index) { daemon, call in
        let adapter = daemon.adapters[index]
        if adapter.faults.refusesToStopDiscovery() { throw DBusError.inProgress }
        let client = call.sender ?? ""
        if adapter.clients.scans[client] != nil, adapter.faults.sticksDiscovery() {
          daemon.stickScan(of: client, at: adapter)
          throw DBusError.inProgress
        }
        guard daemon.stopScan(of: client, at: adapter) else {
          throw DBusError.bluez("Failed", "No discovery started")
        }
        return []
      },
      method("SetDiscoveryFilter", [.init("properties", "a{sv}")], of: index) { daemon, call in
        try daemon.setFilter(call.arguments[0].properties ?? [:], of: call.sender ?? "", at: daemon.adapters[index])
      },
      method("GetDiscoveryFilters", out: [.init("filters", "as")], of: index) { _, _ in
        [.strings(["Discoverable", "DuplicateData", "Pathloss", "Pattern", "RSSI", "Transport", "UUIDs"])]
      },
      longMethod("RemoveDevice", [.init("device", "o")], of: index) { daemon, call in
        let adapter = daemon.adapters[index]
        guard let path = call.arguments[0].objectPath,
          let device = adapter.devices.values.first(where: { $0.object.path == path })
        else { throw DBusError.doesNotExist }
        let repairs = adapter.faults.repairs
        if adapter.faults.ignoresRemoval() {
          await adapter.faults.waitForRepair(after: repairs)
          throw DBusError.bluez("Failed", "Operation was ignored")
        }
        adapter.bonds[device.address] = nil
        daemon.forget(device, at: adapter)
        return []
      },
    ] + experimentalMethods(index)
  }

  /// The services Generic Access and Generic Attribute.
  static let ownServices = ["00001800-0000-1000-8000-00805f9b34fb", "00001801-0000-1000-8000-00805f9b34fb"]

  private nonisolated func setter(
    _ index: Int, _ body: @escaping @Sendable (isolated Daemon, Value) throws -> Void
  ) -> @Sendable (Value) async throws -> Void {
    { [weak self] value in
      guard let self else { throw DBusError.doesNotExist }
      try await body(self, value)
    }
  }

  private nonisolated func property(_ name: String, _ index: Int) -> @Sendable (Value) async throws -> Void {
    setter(index) { $0.adapters[index].object?.set(Names.adapter, [name: $1]) }
  }

  func setPowered(_ on: Bool, _ adapter: VirtualAdapter) {
    guard on != adapter.isPowered else { return }
    if !on {
      for device in adapter.devices.values { end(device, at: adapter, "org.bluez.Reason.Local") }
      for attempt in adapter.attempts.unseen.values { attempt.yield(.giveUp) }
      loseChannels(of: adapter, ENETDOWN)
      for client in adapter.clients.scans.keys { stopScan(of: client, at: adapter) }
      adapter.clients.stuck = nil
      adapter.object?.set(Names.adapter, ["Discovering": false])
      for client in adapter.clients.advertisements.keys { adapter.clients.advertisements[client]?.isOnAir = false }
    }
    adapter.object?.set(Names.adapter, ["Powered": .bool(on)])
    fellSilent(adapter)
  }

  func setPluggedIn(_ plugged: Bool, _ index: Int) throws {
    let adapter = adapters[index]
    guard plugged != adapter.isPluggedIn else { return }
    adapter.isPluggedIn = plugged
    guard connection != nil else { return }
    if plugged { return try serve(adapter) }
    leave(index)
    for device in adapter.devices.values { end(device, at: adapter, "org.bluez.Reason.Local") }
    loseChannels(of: adapter, ENETDOWN)
    for client in adapter.clients.advertisements.keys { release(client) }
    adapter.clear()
    noteConnections(of: adapter)
    fellSilent(adapter)
  }

  /// The adapter, when it is switched on.
  func powered(_ index: Int) throws -> VirtualAdapter {
    guard adapters[index].isPowered else { throw DBusError.notReady }
    return adapters[index]
  }
}
