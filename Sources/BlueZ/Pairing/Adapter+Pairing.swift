public import Streams

extension Adapter {
  /// The devices this adapter has kept keys of.
  public var bondedDevices: [Device] { devices.filter(\.isBonded) }

  /// The devices that bond with this adapter from now on, whoever began it.
  public func newBonds(limit: Int = 64) -> BoundedStream<Device> {
    let adapter = self
    let known = Lock(Set(bondedDevices.map(\.path)))
    return core.streams(limit: limit) { _ in
      let bonded = adapter.bondedDevices
      return known.withLock { known in
        let new = bonded.filter { !known.contains($0.path) }
        known = Set(bonded.map(\.path))
        return new
      }
    }
  }

  /// Whether keys are exchanged to be kept, here or at another's request; see ``openPairingWindow(for:)``.
  public var isPairable: Bool { property("Pairable")?.bool ?? false }

  /// Makes the adapter pairable until further notice, or ends that. bluetoothd may forget it with a restart.
  /// - Throws: ``BlueZError`` with code `.noAdapter`, `.notPermitted`, `.inProgress` or `.serviceUnavailable`.
  public func setPairable(_ pairable: Bool) async throws {
    let path = try await core.whenPresent(address)
    let doing = "making \(path.lastElement) \(pairable ? "" : "not ")pairable"
    try await core.set(path, Self.interface, "Pairable", .bool(pairable), doing: doing)
    try await wait(doing, .seconds(5), until: "Pairable", is: pairable, at: path)
  }
}
