import BlueZ

/// Connects to a device, reads everything that is readable, and disconnects.
struct Inspector: Sendable {
  let adapter: Adapter
  let address: BluetoothAddress
  /// The timeout for finding the device.
  let wait: Duration
  /// The timeout for reading all values.
  let timeout: Duration
  let readsValues: Bool
  let progress: @Sendable (String) -> Void

  func inspect() async throws -> Inspection {
    if adapter.device(address) == nil { progress("scanning for \(address) …") }
    let device = try await adapter.find(address, timeout: wait)
    let wasConnected = device.isConnected
    progress("connecting to \(address) and reading …")
    let result: Result<Inspection, any Error>
    do {
      try await device.connect()
      result = .success(try await read(device))
    } catch {
      result = .failure(error)
    }
    if !wasConnected { await hangUp(device) }
    return try result.get()
  }

  private func read(_ device: Device) async throws -> Inspection {
    var inspection = Inspection(
      address: address.description, addressType: device.addressType?.rawValue, name: device.name,
      appearance: device.property("Appearance")?.integer(), rssi: device.rssi)
    var reader = AttributeReader(timeout: readsValues ? timeout : nil)
    for service in device.services {
      var found = Inspection.Service(
        uuid: service.uuid, handle: service.handle, isPrimary: service.isPrimary,
        includes: service.includedServices.map(\.uuid))
      for characteristic in service.characteristics {
        var seen = Inspection.Characteristic(
          uuid: characteristic.uuid, handle: characteristic.handle, flags: characteristic.flags)
        if !characteristic.flags.isDisjoint(with: AttributeReader.readable) {
          seen.value = try await reader.read { try await characteristic.read(timeout: $0) }
        }
        for descriptor in characteristic.descriptors {
          let value = try await reader.read { try await descriptor.read(timeout: $0) }
          seen.descriptors.append(.init(uuid: descriptor.uuid, handle: descriptor.handle, value: value))
        }
        found.characteristics.append(seen)
      }
      inspection.services.append(found)
    }
    inspection.unread = reader.unread
    // Read last: bluetoothd may exchange the MTU after the services are usable.
    inspection.mtu = device.mtu
    return inspection
  }

  /// Disconnects, because bluetoothd would keep the connection. In a separate task, because this one may be cancelled.
  private func hangUp(_ device: Device) async {
    let ending = Task { try await device.disconnect() }
    switch await ending.result {
    case .success: break
    case .failure(let error as BlueZError) where [.staleHandle, .serviceUnavailable].contains(error.code): break
    case .failure(let error): progress("disconnect \(address): \(error)")
    }
  }
}
