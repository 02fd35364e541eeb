import BlueZ

/// A service of a manager that centrals can use.
final class PublishedService: Sendable {
  let service: CBMutableService
  let characteristics: [CBMutableCharacteristic]
  let application: GATTApplication
  /// The tasks that tell of subscriptions.
  private let watches: [Task<Void, Never>]

  init(
    _ service: CBMutableService, _ characteristics: [CBMutableCharacteristic], _ application: GATTApplication,
    _ watches: [Task<Void, Never>]
  ) {
    self.service = service
    self.characteristics = characteristics
    self.application = application
    self.watches = watches
  }

  func stopWatching() {
    for watch in watches { watch.cancel() }
  }
}

extension CBPeripheralManager {
  /// Adds a service for centrals, and tells the delegate.
  ///
  /// A secondary service is added with the primary one that includes it. A primary service cannot be included: bluetoothd
  /// knows only included services that are registered together.
  public func add(_ service: CBMutableService) {
    guard let adapter = radio.adapter, state == .poweredOn else {
      Radio.logger.error("add: the manager is \(state)")
      return
    }
    change { manager in
      guard service.isPrimary else { return }
      guard !manager.shared.withLock({ $0.services.contains { $0.service === service } }) else {
        throw CBError(.invalidParameters, "the service \(service.uuid.uuidString) was added already")
      }
      try await manager.publish(service, at: adapter)
    } then: {
      $0.delegate?.peripheralManager($0, didAdd: service, error: $1)
    }
  }

  /// Removes a service; centrals that are subscribed to it are told of as gone.
  public func remove(_ service: CBMutableService) {
    withdraw { $0.service === service }
  }

  /// Removes all services of this manager.
  public func removeAllServices() {
    withdraw { _ in true }
  }

  private func publish(_ service: CBMutableService, at adapter: Adapter) async throws {
    var characteristics: [CBMutableCharacteristic] = []
    let local = try localService(service, &characteristics)
    let watches = characteristics.compactMap(watch)
    do {
      let application = try await adapter.offer([local])
      let published = PublishedService(service, characteristics, application, watches)
      shared.withLock { $0.services.append(published) }
    } catch {
      for watch in watches { watch.cancel() }
      throw error
    }
  }

  private func withdraw(_ isMeant: @escaping @Sendable (PublishedService) -> Bool) {
    change { manager in
      let services = manager.shared.withLock { shared in
        defer { shared.services.removeAll(where: isMeant) }
        return shared.services.filter(isMeant)
      }
      for service in services {
        service.stopWatching()
        do {
          try await service.application.unregister()
        } catch let error as BlueZError {
          Radio.logger.notice("the service was gone", metadata: ["error": "\(error)"])
        }
        await manager.callbacks.deliver { [weak manager] in manager?.tellOfTheEnd(of: service) }
      }
    } then: { _, _ in
    }
  }

  /// Tells that the subscribers of a removed service are gone, on the manager's queue.
  private func tellOfTheEnd(of service: PublishedService) {
    for characteristic in service.characteristics {
      characteristic.local = nil
      for central in characteristic.subscribedCentrals ?? [] {
        unsubscribed(central.peer, from: characteristic)
      }
    }
  }

  // MARK: Subscriptions

  /// Tells of subscriptions to a characteristic from now on.
  private func watch(_ characteristic: CBMutableCharacteristic) -> Task<Void, Never>? {
    guard let local = characteristic.local, !characteristic.flags.isDisjoint(with: [.notify, .indicate]) else {
      return nil
    }
    let events = local.subscriptions(limit: 1024)
    let callbacks = callbacks
    return Task { [weak self, weak characteristic] in
      for await event in events {
        await callbacks.deliver { [weak self, weak characteristic] in
          guard let self, let characteristic else { return }
          switch event {
          case .subscribed(let peer, let mtu): subscribed(CBCentral(peer, mtu: mtu), to: characteristic)
          case .unsubscribed(let peer): unsubscribed(peer, from: characteristic)
          }
        }
      }
    }
  }

  private func subscribed(_ central: CBCentral, to characteristic: CBMutableCharacteristic) {
    characteristic.subscribe(central)
    delegate?.peripheralManager(self, central: central, didSubscribeTo: characteristic)
  }

  private func unsubscribed(_ peer: Peer, from characteristic: CBMutableCharacteristic) {
    guard let central = characteristic.unsubscribe(peer) else { return }
    delegate?.peripheralManager(self, central: central, didUnsubscribeFrom: characteristic)
  }

  // MARK: The service in BlueZ

  private func localService(
    _ service: CBMutableService, _ characteristics: inout [CBMutableCharacteristic]
  ) throws -> LocalService {
    let includes = try (service.includedServices ?? []).map { included in
      guard let included = included as? CBMutableService, !included.isPrimary else {
        throw CBError(.operationNotSupported, "\(included.uuid.uuidString) is not a secondary service of this program")
      }
      return try localService(included, &characteristics)
    }
    let own = try (service.characteristics ?? []).map { characteristic in
      guard let characteristic = characteristic as? CBMutableCharacteristic else {
        throw CBError(.invalidParameters, "\(characteristic.uuid.uuidString) is not a characteristic of this program")
      }
      return characteristic
    }
    characteristics += own
    return LocalService(
      service.uuid.bluetoothUUID, isPrimary: service.isPrimary, includes: includes,
      characteristics: own.map(localCharacteristic))
  }

  private func localCharacteristic(_ characteristic: CBMutableCharacteristic) -> LocalCharacteristic {
    let isWritten = !characteristic.properties.isDisjoint(with: [.write, .writeWithoutResponse])
    let local = LocalCharacteristic(
      characteristic.uuid.bluetoothUUID, characteristic.flags,
      descriptors: (characteristic.descriptors ?? []).map { descriptor in
        LocalDescriptor(descriptor.uuid.bluetoothUUID, value: Array(descriptor.shared.withLock { $0.value } ?? Data()))
      },
      read: reader(of: characteristic), writes: isWritten ? .handler(writer(of: characteristic)) : .none)
    characteristic.local = local
    return local
  }
}
