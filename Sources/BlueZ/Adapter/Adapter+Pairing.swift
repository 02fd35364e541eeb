extension Adapter {
  /// The devices this adapter has kept keys of.
  public var bondedDevices: [Device] { devices.filter(\.isBonded) }

  /// Whether keys are exchanged to be kept, here or at another's request; see ``openPairingWindow(for:)``.
  public var isPairable: Bool { property("Pairable")?.bool ?? false }

  /// Makes the adapter pairable until further notice, or ends that. bluetoothd may forget it with a restart.
  /// - Throws: ``BlueZError`` with code `.noAdapter`, `.notPermitted`, `.inProgress` or `.serviceUnavailable`.
  public func setPairable(_ pairable: Bool) async throws {
    let path = try requirePath()
    let doing = "making \(path.lastElement) \(pairable ? "" : "not ")pairable"
    try await core.set(path, Self.interface, "Pairable", .bool(pairable), doing: doing)
    try await core.wait(doing, .seconds(5)) { state in
      state.cache.properties(path, Self.interface)?["Pairable"]?.bool == pairable ? () : nil
    }
  }
}
