public import DBus

/// A GATT service of a remote device.
public struct RemoteService: Sendable, Hashable {
  static let interface = InterfaceName.service

  /// The device it belongs to.
  public let device: Device
  /// Its object in bluetoothd. Services with one UUID differ by it.
  public let path: ObjectPath
  /// What it is.
  public let uuid: BluetoothUUID
  /// Whether it stands for itself; a secondary service is only included by others.
  public let isPrimary: Bool

  init?(device: Device, path: ObjectPath, in cache: ObjectCache) {
    guard let properties = cache.properties(path, Self.interface),
      let uuid = properties["UUID"]?.string.flatMap(BluetoothUUID.init)
    else { return nil }
    self.device = device
    self.path = path
    self.uuid = uuid
    isPrimary = properties["Primary"]?.bool ?? true
  }

  /// The handle of its declaration; `nil` when bluetoothd names it another way.
  public var handle: UInt16? { path.attributeHandle }

  /// The services it includes.
  public var includedServices: [RemoteService] {
    device.core.state.withLock { state in
      let cache = state.cache
      let paths = cache.properties(path, Self.interface)?["Includes"]?.objectPaths ?? []
      return paths.compactMap { RemoteService(device: device, path: $0, in: cache) }
    }
  }

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
      return cache.paths(with: RemoteService.interface, below: path).compactMap {
        RemoteService(device: self, path: $0, in: cache)
      }
    }
  }

  /// All characteristics with a UUID in the services with a UUID, in the order of their handles.
  /// - Throws: ``BlueZError`` with code `.notConnected` before the services are resolved, `.notSupported` when the
  ///   device has no such service, `.staleHandle`.
  public func characteristics(_ uuid: BluetoothUUID, in service: BluetoothUUID) throws -> [RemoteCharacteristic] {
    try check()
    guard servicesResolved else {
      throw BlueZError(.notConnected, "the services of \(peer) are not known", hint: "connect first")
    }
    let services = services.filter { $0.uuid == service }
    guard !services.isEmpty else { throw BlueZError(.notSupported, "\(peer) has no service \(service)") }
    return services.flatMap(\.characteristics).filter { $0.uuid == uuid }
  }

  /// Finds a characteristic. Where a device has several with one UUID, this is the first; ``characteristics(_:in:)``
  /// has all.
  /// - Throws: ``BlueZError`` with code `.notConnected` before the services are resolved, `.notSupported` when the
  ///   device has no such service or characteristic, `.staleHandle`.
  public func characteristic(_ uuid: BluetoothUUID, in service: BluetoothUUID) throws -> RemoteCharacteristic {
    guard let found = try characteristics(uuid, in: service).first else {
      throw BlueZError(.notSupported, "the service \(service) of \(peer) has no characteristic \(uuid)")
    }
    return found
  }
}
