extension Adapter {
  /// Finds the device with an address: at once when bluetoothd knows it, else by looking around until it advertises.
  ///
  /// bluetoothd forgets a device that was neither connected nor heard for 30 s; this is how to come back to it.
  /// - Parameters:
  ///   - address: the public or static address; for a bonded device its identity.
  ///   - timeout: how long to look around.
  /// - Throws: ``BlueZError``: `.deviceNotFound` when nothing was heard of it, and as ``discover(_:limit:)``; or
  ///   `CancellationError`.
  public func find(_ address: BluetoothAddress, timeout: Duration = .seconds(15)) async throws -> Device {
    if let known = device(address) { return known }
    let sightings = try await discover()
    do {
      return try await withTimeout(timeout, "looking for \(address)") {
        for await sighting in sightings where !sighting.isLost && sighting.device.address == address {
          return sighting.device
        }
        throw CancellationError()
      }
    } catch let error as BlueZError where error.code == .timedOut {
      throw BlueZError(.deviceNotFound, error.message, hint: "is it near, and does it advertise?")
    }
  }
}
