import BlueZ
import DBus
import Glibc
import Streams
import Timing

/// The interface `org.bluez.Device1`, and the connections between adapters.
extension Daemon {
  func devicePart(_ address: BluetoothAddress, _ values: [String: Value], _ index: Int) -> ServedObject.Part {
    let settable: (String) -> @Sendable (Value) async throws -> Void = { name in
      { [weak self] value in await self?.set(name, value, of: address, at: index) }
    }
    return ServedObject.Part(
      name: Names.device,
      types: [
        "Address": "s", "AddressType": "s", "Name": "s", "Alias": "s", "Appearance": "q", "Adapter": "o",
        "Paired": "b", "Bonded": "b", "Trusted": "b", "Blocked": "b", "LegacyPairing": "b", "Connected": "b",
        "ServicesResolved": "b", "UUIDs": "as", "RSSI": "n", "TxPower": "n", "ManufacturerData": "a{qv}",
        "ServiceData": "a{sv}",
      ],
      values: values, setters: ["Trusted": settable("Trusted"), "Blocked": settable("Blocked")],
      methods: [
        longMethod("Connect", of: index) { daemon, _ in
          let (adapter, device) = try daemon.known(address, at: index)
          try await daemon.connect(device, at: adapter)
          let delay = adapter.faults.connectDelay
          if delay > .zero { try await Task.sleep(for: delay, clock: .steady) }
          return []
        },
        longMethod("Disconnect", of: index) { daemon, _ in
          let (_, device) = try daemon.known(address, at: index)
          guard device.hasClassicLink || device.link != nil || device.attempt != nil else {
            throw DBusError.bluez("NotConnected", "Not Connected")
          }
          daemon.setClassicLink(false, of: address, at: index)
          try await daemon.disconnect(address, at: index)
          return []
        },
        longMethod("Pair", of: index) { daemon, call in
          let (adapter, device) = try daemon.known(address, at: index)
          try await daemon.pair(device, at: adapter, for: call.sender ?? "")
          return []
        },
        method("CancelPairing", of: index) { daemon, _ in
          guard let pairing = try daemon.known(address, at: index).1.pairing else { throw DBusError.doesNotExist }
          pairing.cancel()
          return []
        },
      ])
  }

  /// Ends a device's link over LE, or the attempt to make one, as a program requests it.
  private func disconnect(_ address: BluetoothAddress, at index: Int) async throws {
    let (adapter, device) = try known(address, at: index)
    if let link = device.link {
      await adapter.faults.delayDisconnection()
      guard device.link === link else { return }
    }
    end(device, at: adapter, "org.bluez.Reason.Local")
  }

  /// The interfaces of a device's links over LE and Classic; none where the configuration has none.
  func bearerParts(_ address: BluetoothAddress, _ index: Int) -> [ServedObject.Part] {
    guard configuration.reportsBearers else { return [] }
    let types: [String: Signature] = ["Connected": "b"]
    return [
      .init(
        name: Names.bearerLE, types: types, values: ["Connected": false],
        methods: [
          longMethod("Disconnect", of: index) { daemon, _ in
            guard try daemon.known(address, at: index).1.link != nil else { throw DBusError.notConnected }
            try await daemon.disconnect(address, at: index)
            return []
          }
        ]),
      .init(name: Names.bearerClassic, types: types, values: ["Connected": false]),
    ]
  }

  /// Makes or ends a link over Classic with a device that bluetoothd knows.
  func setClassicLink(_ isLinked: Bool, of address: BluetoothAddress, at index: Int) {
    guard let device = adapters[index].devices[address], device.hasClassicLink != isLinked else { return }
    device.hasClassicLink = isLinked
    device.object.set(Names.bearerClassic, ["Connected": .bool(isLinked)])
    device.object.set(Names.device, ["Connected": .bool(isLinked || device.link != nil)])
  }

  func hasClassicLink(with address: BluetoothAddress, at index: Int) -> Bool {
    adapters[index].devices[address]?.hasClassicLink == true
  }

  private func known(_ address: BluetoothAddress, at index: Int) throws -> (VirtualAdapter, VirtualDevice) {
    guard let device = adapters[index].devices[address] else { throw DBusError.doesNotExist }
    return (adapters[index], device)
  }

  private func set(_ name: String, _ value: Value, of address: BluetoothAddress, at index: Int) {
    guard let device = adapters[index].devices[address] else { return }
    device.object.set(Names.device, [name: value])
    if name == "Blocked", value.bool == true { end(device, at: adapters[index], "org.bluez.Reason.Local") }
  }

  /// Returns the other end of a device's connection, or of the connection it would have.
  func peer(of device: VirtualDevice) -> VirtualAdapter? {
    adapters.first { $0.address == device.address && $0.object != nil }
  }

  func connect(_ device: VirtualDevice, at adapter: VirtualAdapter) async throws {
    guard adapter.isPowered else { throw DBusError.notReady }
    guard device.link == nil else { return }
    guard device.attempt == nil else { throw DBusError.inProgress }
    if adapter.faults.abortsConnect() { throw DBusError.connectAborted }

    let (turns, source) = BoundedStream.make(of: VirtualDevice.Attempt.self, limit: 4, policy: .dropNewest)
    device.attempt = source
    let hangs = adapter.faults.has(.connectHangs)
    let limit = configuration.connectTimeout
    let timer = Task {
      guard !hangs else { return }
      try await Task.sleep(for: limit, clock: .steady)
      source.yield(.giveUp)
    }
    defer {
      timer.cancel()
      device.attempt = nil
    }
    source.yield(.tryAgain)
    for await turn in turns {
      if turn == .giveUp { break }
      // The kernel may have made the link for a channel.
      if !hangs, device.link != nil || link(ifReachable: device, at: adapter) { return }
    }
    throw DBusError.connectAborted
  }

  /// Links a device that advertises and admits this adapter.
  /// - Returns: `false` if it does not.
  func link(ifReachable device: VirtualDevice, at adapter: VirtualAdapter) -> Bool {
    if let peer = peer(of: device) {
      guard peer.air?.isConnectable == true, isWelcome(adapter, at: peer) else { return false }
      link(device, at: adapter, to: peer)
      return true
    }
    guard adapter.strangers[device.address]?.air.isConnectable == true else { return false }
    begin(Link(from: adapter, mtu: configuration.mtu, defaultAgent: defaultAgents.last), of: [(device, adapter)])
    return true
  }

  private func isWelcome(_ adapter: VirtualAdapter, at peer: VirtualAdapter) -> Bool {
    peer.devices[adapter.address]?["Blocked"]?.bool != true
  }

  private func link(_ device: VirtualDevice, at adapter: VirtualAdapter, to peer: VirtualAdapter) {
    guard let other = peer.devices[adapter.address] ?? addDevice(adapter.address, [:], at: peer) else { return }
    let link = Link(from: adapter, mtu: mtu(with: peer), defaultAgent: defaultAgents.last)
    begin(link, of: [(other, peer), (device, adapter)])
  }

  private func begin(_ link: Link, of sides: [(VirtualDevice, VirtualAdapter)]) {
    // Whichever side made the link, it serves a channel that waits for one.
    defer { for (_, at) in sides { for attempt in at.attempts.channels.values { attempt.yield(.tryAgain) } } }
    // Before a client learns of the connection, and repairs the fault.
    let readable = sides.filter { !$0.1.faults.leavesServicesUnresolved() }
    for (side, at) in sides {
      side.link = link
      noteConnections(of: at)
      let silently = at.faults.has(.connectedIsNotSignalled)
      side.object.set(Names.bearerLE, ["Connected": true], silently: silently)
      side.object.set(Names.device, ["Connected": true], silently: silently)
    }
    for (side, at) in readable {
      // The reply to `Connect` comes before the services are read.
      Task {
        try await Task.sleep(for: at.faults.servicesDelay, clock: .steady)
        resolveServices(of: side, over: link, at: at)
      }
    }
  }

  /// Ends a device's connection, or the attempt to establish one. Both sides lose it.
  /// - Parameter reason: The reason from this side's view.
  func end(_ device: VirtualDevice, at adapter: VirtualAdapter, _ reason: String) {
    device.attempt?.yield(.giveUp)
    guard device.link != nil else { return }
    guard let peer = peer(of: device), let other = peer.devices[adapter.address] else {
      return unlink(device, at: adapter, reason)
    }
    let remote = reason == "org.bluez.Reason.Local" ? "org.bluez.Reason.Remote" : reason
    unsubscribe(adapter, from: peer)
    unsubscribe(peer, from: adapter)
    unlink(device, at: adapter, reason)
    unlink(other, at: peer, remote)
  }

  private func unlink(_ device: VirtualDevice, at adapter: VirtualAdapter, _ reason: String) {
    if let link = device.link { loseChannels(over: link, at: adapter, reason) }
    device.link = nil
    noteConnections(of: adapter)
    device.pairing?.cancel()
    if !adapter.devices.values.contains(where: { $0.link != nil }) { adapter.closeWriteSockets() }
    for (_, mirror) in device.mirrored { mirror.linkEnded() }
    let silently = adapter.faults.has(.connectedIsNotSignalled)
    device.object.set(Names.bearerLE, ["Connected": false], silently: silently)
    if configuration.reportsBearers, !silently {
      device.object.emit(Names.bearerLE, "Disconnected", [.string(reason), .string("")])
    }
    if configuration.version.tellsDisconnectReasons, !device.hasClassicLink {
      device.object.emit(Names.device, "Disconnected", [.string(reason), .string("")])
    }
    device.object.set(Names.device, ["ServicesResolved": false], silently: silently)
    let isBonded = adapter.bonds[device.address] != nil
    device.object.set(
      Names.device,
      ["Connected": .bool(device.hasClassicLink), "Paired": .bool(isBonded), "Bonded": .bool(isBonded)],
      silently: silently)
  }

  /// Ends all connections of an adapter, as when it goes out of range.
  func loseConnections(_ index: Int) {
    for device in adapters[index].devices.values { end(device, at: adapters[index], "org.bluez.Reason.Timeout") }
    channels.change { $0.lose(nil, at: index, ETIMEDOUT) }
  }
}
