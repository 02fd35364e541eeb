public import DBus

/// A GATT service of a remote device.
public struct RemoteService: Sendable, Hashable {
  static let interface = "org.bluez.GattService1"

  /// The device it belongs to.
  public let device: Device
  /// Its object in bluetoothd.
  public let path: ObjectPath
  /// What it is.
  public let uuid: BluetoothUUID

  /// Its characteristics, in the order of their handles.
  public var characteristics: [RemoteCharacteristic] {
    device.core.state.withLock { state in
      let cache = state.cache
      return cache.paths(with: RemoteCharacteristic.interface, below: path).compactMap { path in
        guard let properties = cache.properties(path, RemoteCharacteristic.interface),
          let uuid = properties["UUID"]?.string.flatMap(BluetoothUUID.init)
        else { return nil }
        return RemoteCharacteristic(
          device: device, path: path, uuid: uuid, flags: CharacteristicFlags(properties["Flags"]?.strings ?? []))
      }
    }
  }
}

extension Device {
  /// The GATT services, in the order of their handles; empty until they are resolved.
  public var services: [RemoteService] {
    guard servicesResolved else { return [] }
    return core.state.withLock { state in
      guard state.generation == generation else { return [] }
      let cache = state.cache
      return cache.paths(with: RemoteService.interface, below: path).compactMap { path in
        guard let uuid = cache.properties(path, RemoteService.interface)?["UUID"]?.string.flatMap(BluetoothUUID.init)
        else { return nil }
        return RemoteService(device: self, path: path, uuid: uuid)
      }
    }
  }

  /// Finds a characteristic. Where a device has several with one UUID, this is the first; the others are in
  /// ``services``.
  /// - Throws: ``BlueZError`` with code `.notConnected` before the services are resolved, `.notSupported` when the
  ///   device has no such service or characteristic, `.staleHandle`.
  public func characteristic(_ uuid: BluetoothUUID, in service: BluetoothUUID) throws -> RemoteCharacteristic {
    try check()
    guard servicesResolved else {
      throw BlueZError(.notConnected, "the services of \(peer) are not known", hint: "connect first")
    }
    let services = services.filter { $0.uuid == service }
    guard !services.isEmpty else { throw BlueZError(.notSupported, "\(peer) has no service \(service)") }
    for service in services {
      if let found = service.characteristics.first(where: { $0.uuid == uuid }) { return found }
    }
    throw BlueZError(.notSupported, "the service \(service) of \(peer) has no characteristic \(uuid)")
  }
}
