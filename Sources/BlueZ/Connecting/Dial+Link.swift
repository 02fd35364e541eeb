import Timing

/// The supervision of an established connection.
extension Dial {
  /// The interval of polling: bluetoothd 5.66 does not always signal that a connection ended.
  private static let checkInterval = Duration.seconds(10)

  func untilLost() async throws -> BlueZError {
    guard case .connected(let device) = state else { throw CancellationError() }
    let events = device.events()
    return try await withThrowingTaskGroup(of: BlueZError.self) { [self] group in
      group.addTask { [self] in
        while true {
          // A change that this finds arrives as an event.
          try await adapter.core.refresh(
            device.path, Device.interface, doing: "reading the properties of \(device.peer)")
          try device.check()
          try await Task.sleep(for: Self.checkInterval, clock: .steady)
        }
      }
      group.addTask { [self] in
        if !device.isConnected { return Self.lost(device, nil) }
        for await event in events {
          switch event {
          case .disconnected(let reason): return Self.lost(device, reason)
          case .gone: return BlueZError(.staleHandle, "bluetoothd has forgotten \(device.peer), or has stopped")
          case .identityResolved(let address): shared.withLock { $0.target = address }
          case .connected, .servicesResolved, .servicesChanged, .rssi, .batteryLevel, .property: continue
          }
        }
        throw CancellationError()
      }
      defer { group.cancelAll() }
      do {
        return try await group.next() ?? Self.lost(device, nil)
      } catch let error as BlueZError {
        return error
      }
    }
  }

  private static func lost(_ device: Device, _ reason: DisconnectReason?) -> BlueZError {
    BlueZError(.notConnected, "the connection to \(device.peer) ended" + (reason.map { ": \($0)" } ?? ""))
  }
}
