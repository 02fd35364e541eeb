import BlueZ

/// Discovery: bluetoothd has read all attributes when a connection is made, and each call shows a part of them.
extension CBPeripheral {
  /// Discovers services, and tells the delegate.
  /// - Parameter serviceUUIDs: The services to discover; `nil` discovers all.
  public func discoverServices(_ serviceUUIDs: [CBUUID]?) {
    let wanted = serviceUUIDs.map { Set($0.map(\.bluetoothUUID)) }
    request { [self] in
      let device = try connectedDevice()
      let found = shared.withLock { shared in
        let known = shared.services ?? []
        return device.services.filter { remote in
          remote.isPrimary && wanted?.contains(remote.uuid) ?? true || known.contains { $0.remote == remote }
        }
      }.map(service(of:))
      shared.withLock { $0.services = found }
    } then: {
      $0.delegate?.peripheral($0, didDiscoverServices: $1)
    }
  }

  /// Discovers the services that a service includes, and tells the delegate.
  /// - Parameters:
  ///   - includedServiceUUIDs: The services to discover; `nil` discovers all.
  ///   - service: The service that includes them.
  public func discoverIncludedServices(_ includedServiceUUIDs: [CBUUID]?, for service: CBService) {
    let wanted = includedServiceUUIDs.map { Set($0.map(\.bluetoothUUID)) }
    request { [self] in
      let remote = try reachable(service.remote)
      let found = remote.includedServices.filter { wanted?.contains($0.uuid) ?? true }.map(self.service(of:))
      service.shared.withLock { $0.includedServices = found }
    } then: {
      $0.delegate?.peripheral($0, didDiscoverIncludedServicesFor: service, error: $1)
    }
  }

  /// Discovers characteristics of a service, and tells the delegate.
  /// - Parameters:
  ///   - characteristicUUIDs: The characteristics to discover; `nil` discovers all.
  ///   - service: The service that has them.
  public func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService) {
    let wanted = characteristicUUIDs.map { Set($0.map(\.bluetoothUUID)) }
    request { [self] in
      let remote = try reachable(service.remote)
      let known = service.characteristics ?? []
      let found = remote.characteristics.filter { remote in
        wanted?.contains(remote.uuid) ?? true || known.contains { $0.remote == remote }
      }.map { characteristic(of: $0, in: service) }
      service.shared.withLock { $0.characteristics = found }
    } then: {
      $0.delegate?.peripheral($0, didDiscoverCharacteristicsFor: service, error: $1)
    }
  }

  /// Discovers the descriptors of a characteristic, and tells the delegate.
  public func discoverDescriptors(for characteristic: CBCharacteristic) {
    request { [self] in
      let remote = try reachable(characteristic.remote)
      let found = remote.descriptors.map { descriptor(of: $0, in: characteristic) }
      characteristic.shared.withLock { $0.descriptors = found }
    } then: {
      $0.delegate?.peripheral($0, didDiscoverDescriptorsFor: characteristic, error: $1)
    }
  }

  /// Tells of services that the device withdrew or added, on the manager's queue.
  func servicesChanged() {
    guard let device = shared.withLock({ $0.device }) else { return }
    let present = Set(device.services)
    let gone = shared.withLock { shared in
      let gone = (shared.services ?? []).filter { $0.remote.map { !present.contains($0) } ?? true }
      shared.services?.removeAll { gone.contains($0) }
      for service in gone { service.remote.map { shared.attributes.services[$0] = nil } }
      return gone
    }
    delegate?.peripheral(self, didModifyServices: gone)
  }

  // MARK: The objects of attributes

  private func service(of remote: RemoteService) -> CBService {
    shared.withLock { shared in
      let service = shared.attributes.services[remote] ?? CBService(remote, of: self)
      shared.attributes.services[remote] = service
      return service
    }
  }

  private func characteristic(of remote: RemoteCharacteristic, in service: CBService) -> CBCharacteristic {
    shared.withLock { shared in
      let characteristic = shared.attributes.characteristics[remote] ?? CBCharacteristic(remote, of: service)
      shared.attributes.characteristics[remote] = characteristic
      return characteristic
    }
  }

  private func descriptor(of remote: RemoteDescriptor, in characteristic: CBCharacteristic) -> CBDescriptor {
    shared.withLock { shared in
      let descriptor = shared.attributes.descriptors[remote] ?? CBDescriptor(remote, of: characteristic)
      shared.attributes.descriptors[remote] = descriptor
      return descriptor
    }
  }

  // MARK: Requests

  /// Runs a request after all earlier ones, and then tells of its outcome on the manager's queue.
  func request(
    _ body: @escaping @Sendable () async throws -> Void,
    then tell: @escaping @Sendable (CBPeripheral, (any Error)?) -> Void
  ) {
    requests.enqueue { [self] in
      var failure: (any Error)?
      do {
        try await body()
      } catch {
        failure = CBError.wrapping(error)
      }
      let outcome = failure
      await callbacks.deliver { [self] in tell(self, outcome) }
    }
  }

  /// The device of the present connection.
  /// - Throws: ``CBError`` when there is none.
  func connectedDevice() throws -> Device {
    let device = shared.withLock { $0.state == .connected ? $0.device : nil }
    guard let device else { throw CBError(.notConnected, "the peripheral is not connected") }
    return device
  }

  /// Returns the attribute in `BlueZ` while the device is connected.
  /// - Throws: The error of ``connectedDevice()``, or `CBError` for an attribute that is this program's own.
  func reachable<Attribute>(_ remote: Attribute?) throws -> Attribute {
    _ = try connectedDevice()
    guard let remote else { throw CBError(.invalidHandle, "the attribute is not one of a remote device") }
    return remote
  }
}
