public import DBus

/// A GATT service of a remote device.
///
/// ```swift
/// for service in device.services {
///   print(AssignedNumbers.service(service.uuid) ?? service.uuid.description)
///   for characteristic in service.characteristics { print(" ", characteristic.uuid, characteristic.flags) }
/// }
/// ```
public struct RemoteService: Sendable, Hashable {
  static let interface = InterfaceName.service

  /// The device that the service belongs to.
  public let device: Device
  /// The path of the service's object in bluetoothd, by which services with the same UUID differ.
  public let path: ObjectPath
  /// The UUID of the service's type.
  public let uuid: BluetoothUUID
  /// A Boolean value that indicates whether the service is primary; a secondary service is only included by others.
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

  /// The handle of the declaration; `nil` when bluetoothd names the object in another way.
  public var handle: UInt16? { path.attributeHandle }

  /// The services that this service includes.
  public var includedServices: [RemoteService] {
    device.core.state.withLock { state in
      let cache = state.cache
      let paths = cache.properties(path, Self.interface)?["Includes"]?.objectPaths ?? []
      return paths.compactMap { RemoteService(device: device, path: $0, in: cache) }
    }
  }

  /// The characteristics of the service, ordered by handle.
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
  /// The GATT services of the device, ordered by handle; empty until they are resolved.
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

  /// Returns all characteristics with a UUID in the services with a UUID, ordered by handle.
  /// - Throws: ``BlueZError`` with code `.notConnected` before the services are resolved, `.notSupported` when the
  ///   device has no such service, `.staleHandle`.
  public func characteristics(_ uuid: BluetoothUUID, in service: BluetoothUUID) throws -> [RemoteCharacteristic] {
    try check()
    guard servicesResolved else {
      throw BlueZError(.notConnected, "the services of \(peer) have not been read", hint: "connect first")
    }
    let services = services.filter { $0.uuid == service }
    guard !services.isEmpty else { throw BlueZError(.notSupported, "\(peer) has no service \(service)") }
    return services.flatMap(\.characteristics).filter { $0.uuid == uuid }
  }

  /// Returns the characteristic with a UUID. Where a device has several, this is the first; ``characteristics(_:in:)``
  /// returns all.
  /// - Throws: ``BlueZError`` with code `.notConnected` before the services are resolved, `.notSupported` when the
  ///   device has no such service or characteristic, `.staleHandle`.
  public func characteristic(_ uuid: BluetoothUUID, in service: BluetoothUUID) throws -> RemoteCharacteristic {
    guard let found = try characteristics(uuid, in: service).first else {
      throw BlueZError(.notSupported, "the service \(service) of \(peer) has no characteristic \(uuid)")
    }
    return found
  }
}
