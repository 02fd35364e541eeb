public import Streams

extension Adapter {
  /// The devices whose keys this adapter has stored.
  public var bondedDevices: [Device] { devices.filter(\.isBonded) }

  /// Returns the devices that bond with this adapter from now on, whichever side started it.
  /// - Parameter limit: The capacity of the stream; when it is full the oldest devices are dropped.
  public func newBonds(limit: Int = 64) -> BoundedStream<Device> {
    let session = session
    let tracker = DeviceTracker(core, identity) { ($0["Bonded"] ?? $0["Paired"])?.bool == true }
    return core.streams(limit: limit) { change in
      tracker.note(change).compactMap { change in
        if case .began(let path) = change { Device(session: session, path: path) } else { nil }
      }
    }
  }

  /// A Boolean value that indicates whether the adapter exchanges keys that are stored, on its own or a peer's request;
  /// see ``openPairingWindow(for:)``.
  public var isPairable: Bool { property("Pairable")?.bool ?? false }

  /// Makes the adapter pairable without a time limit, or stops that. bluetoothd may forget the setting with a restart.
  /// - Throws: ``BlueZError`` with code `.noAdapter`, `.notPermitted`, `.inProgress` or `.serviceUnavailable`.
  public func setPairable(_ pairable: Bool) async throws {
    let path = try await core.whenPresent(identity)
    let doing = "making \(path.lastElement) \(pairable ? "" : "not ")pairable"
    try await core.set(path, Self.interface, "Pairable", .bool(pairable), doing: doing)
    try await wait(doing, .seconds(5), until: "Pairable", is: pairable, at: path)
  }
}
