import DBus

/// The interface `org.bluez.GattManager1`, and the services as the peer sees them.
extension Daemon {
  func gattManager(_ index: Int) -> ServedObject.Part {
    let application = Interface.Argument("application", "o")
    return ServedObject.Part(
      name: Names.gattManager,
      methods: [
        method("RegisterApplication", [application, .init("options", "a{sv}")], of: index) { daemon, call in
          try await daemon.offer(try client(of: call), at: daemon.adapters[index])
          return []
        },
        method("UnregisterApplication", [application], of: index) { daemon, call in
          guard daemon.withdraw(try client(of: call), at: daemon.adapters[index]) else { throw DBusError.doesNotExist }
          return []
        },
      ])
  }

  func offer(_ client: VirtualAdapter.Client, at adapter: VirtualAdapter) async throws {
    guard !adapter.server.applications.contains(where: { $0.client == client }) else { throw DBusError.alreadyExists }
    let addressee = addressee(adapter.index)
    let objects = try await RemoteObject(try living(), client.name, client.path).managedObjects()
    try expect(addressee)
    try expect(client.name)
    var handle = adapter.server.nextHandle
    let services = try AttributeService.read(objects, of: client.name, from: &handle)
    adapter.server.nextHandle = handle
    adapter.server.applications.append((client, services))
    servicesChanged(adapter)
  }

  /// - Returns: `true` if there were any.
  @discardableResult
  func withdraw(_ client: VirtualAdapter.Client, at adapter: VirtualAdapter) -> Bool {
    guard let index = adapter.server.applications.firstIndex(where: { $0.client == client }) else { return false }
    let gone = adapter.server.applications.remove(at: index).services
    for attribute in gone.flatMap(\.characteristics).map(\.attribute) {
      adapter.server.notifiers.removeValue(forKey: attribute)?.close()
      adapter.server.writeSockets.removeValue(forKey: attribute)?.close()
    }
    servicesChanged(adapter)
    return true
  }

  private func servicesChanged(_ adapter: VirtualAdapter) {
    // Connected centrals are informed at once (Core Specification 3.G.7.1).
    for other in adapters {
      if let device = other.devices[adapter.address], device.link != nil, device["ServicesResolved"]?.bool == true {
        mirror(adapter, at: device, of: other)
      }
    }
    adapter.object?.set(
      Names.adapter, ["UUIDs": .strings(Self.ownServices + adapter.services.map(\.attribute.uuid))])
  }

  func resolveServices(of device: VirtualDevice, over link: Link, at adapter: VirtualAdapter) {
    guard device.link === link else { return }
    if let peer = peer(of: device) {
      mirror(peer, at: device, of: adapter)
    } else {
      let known = device["UUIDs"]?.strings ?? []
      device.object.set(Names.device, ["UUIDs": .strings(Set(known + Self.ownServices).sorted())])
    }
    // The device name of Generic Access is read with the rest.
    let name: Value = device["Name"] ?? .string(peer(of: device)?.alias ?? device.address.description)
    device.object.set(Names.device, ["Name": name, "Alias": name])
    device.object.set(
      Names.device, ["ServicesResolved": true], silently: adapter.faults.has(.connectedIsNotSignalled))
  }

  /// Updates the objects below a device to the services of the peer.
  private func mirror(_ peer: VirtualAdapter, at device: VirtualDevice, of adapter: VirtualAdapter) {
    let services = peer.services
    for (service, mirror) in device.mirrored where !services.contains(service) { mirror.remove() }
    device.mirrored.removeAll { !services.contains($0.service) }
    for (_, mirror) in device.mirrored { mirror.setMTU(mtu(with: peer)) }
    for service in services where !device.mirrored.contains(where: { $0.service == service }) {
      do {
        let paths = try Dictionary(
          services.compactMap { one in
            try one.attribute.path.map { ($0, try device.object.path.appending(one.attribute.name("service"))) }
          }, uniquingKeysWith: { first, _ in first })
        let place = Place(adapter: adapter.index, device: device.address)
        let context = MirrorContext(
          place: place, faults: adapter.faults, daemon: self, connection: try home(of: adapter), mtu: mtu(with: peer))
        let mirrored = try MirroredService(
          service, of: device.object, includes: service.includes.compactMap { paths[$0] }, context)
        device.mirrored.append((service, mirrored))
      } catch {
        logger.debug("service not mirrored", metadata: ["error": "\(error)"])
      }
    }
    let uuids = Self.ownServices + services.map(\.attribute.uuid)
    let known = device["UUIDs"]?.strings ?? []
    device.object.set(Names.device, ["UUIDs": .strings(Set(known + uuids).sorted())])
  }

  /// Ends the subscriptions of one adapter's devices at another.
  func unsubscribe(_ central: VirtualAdapter, from adapter: VirtualAdapter) {
    guard let path = adapter.devices[central.address]?.object.path else { return }
    for (attribute, notifier) in adapter.server.notifiers where notifier.remove(path) {
      adapter.server.notifiers[attribute] = nil
    }
  }
}
