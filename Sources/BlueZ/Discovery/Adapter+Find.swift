extension Adapter {
  /// Returns the device with an address: at once when bluetoothd knows it, otherwise after a scan that ends when the
  /// device advertises.
  ///
  /// bluetoothd forgets a device that was neither connected nor received for 30 s; this method finds it again.
  /// - Parameters:
  ///   - address: The public or static address; for a bonded device its identity address.
  ///   - timeout: The longest time to scan.
  /// - Throws: ``BlueZError``: `.deviceNotFound` when the device did not advertise, and the errors of
  ///   ``discover(_:limit:)``; or `CancellationError`.
  public func find(_ address: BluetoothAddress, timeout: Duration = .seconds(15)) async throws -> Device {
    if let known = device(address) { return known }
    let sightings = try await discover()
    do {
      return try await withTimeout(timeout, "scanning for \(address)") {
        for await sighting in sightings where !sighting.isLost && sighting.device.address == address {
          return sighting.device
        }
        throw CancellationError()
      }
    } catch let error as BlueZError where error.code == .timedOut {
      throw BlueZError(.deviceNotFound, error.message, hint: "check that it is in range and advertises")
    }
  }
}
