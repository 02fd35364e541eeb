import Timing

/// The supervision of an established connection.
extension Dial {
  /// The interval of polling: bluetoothd 5.66 does not always signal that a connection ended.
  private static let checkInterval = Duration.seconds(10)

  /// Waits for a time, or until another program, the peer or bluetoothd itself connects the device.
  ///
  /// Only a new link counts: one that is there already was of no use for the last attempt.
  func untilLinked(atMost delay: Duration) async throws {
    let adapter = adapter
    let links = adapter.core.stream(of: Void.self, limit: 1) { [weak self] change in
      guard case .changed(let path, Device.interface, let changed, _) = change, changed["Connected"]?.bool == true,
        let self, Device(session: adapter.session, path: path).address == target
      else { return nil }
      return ()
    }
    if isLinked, !shared.withLock({ $0.wasLinked }) { return }
    do {
      try await withTimeout(delay, "waiting for the next attempt") {
        for await _ in links { return }
        throw adapter.core.errorOfAnEndedStream()
      }
    } catch let error as BlueZError where error.code == .timedOut {
      // The time is over.
    }
  }

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
          case .identityResolved(let address):
            shared.withLock { shared in
              shared.target = address
              if shared.type != nil { shared.type = device.addressType }
            }
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
