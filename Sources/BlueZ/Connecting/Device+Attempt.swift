import Streams
import Timing

/// One attempt to connect, step by step.
extension Device {
  /// Connects, waits until the services can be used, and looks for those that must be there.
  func attempt(_ timeout: Duration, requiring required: [BluetoothUUID: Set<BluetoothUUID>]) async throws {
    try await ConnectFailure.in(.connection) {
      try await untilNoLinkEnds(timeout)
      try check()
      // bluetoothd 5.66 would never answer, and be out of order for the device from then on.
      guard !isBlocked else {
        throw BlueZError(.notPermitted, "\(peer) is blocked", hint: "setBlocked(false) lets it in again")
      }
      guard !isConnected else { return }
      try await link(timeout)
    }
    try await ConnectFailure.in(.services) {
      do {
        try await waitForServices(timeout)
        // bluetoothd may tell that it has read the services before it tells them. It answers after both.
        try await core.refresh(path, Self.interface, doing: "looking at \(peer)")
        try await refreshMTU()
        for (service, characteristics) in required {
          for characteristic in characteristics { _ = try self.characteristic(characteristic, in: service) }
        }
      } catch let error as BlueZError where error.code == .timedOut || error.code == .notSupported {
        // A link without the services is of no use, and the next attempt must not take it for a good one.
        if error.code == .timedOut { try await giveUpOnceAnswered() } else { await giveUp() }
        throw error
      } catch is CancellationError {
        // Nobody would use the link, and bluetoothd would keep it.
        try await giveUpOnceAnswered()
      }
    }
  }

  /// bluetoothd 5.66 does not always tell that Connected and ServicesResolved changed: this often it is asked.
  private static let checkInterval = Duration.seconds(1)

  private func waitForServices(_ timeout: Duration) async throws {
    try await withThrowingTaskGroup { [self] group in
      group.addTask { [self] in
        while true {
          // What it finds out reaches whoever waits.
          try await core.refresh(path, Self.interface, doing: "looking at \(peer)")
          try await Task.sleep(for: Self.checkInterval, clock: .steady)
        }
      }
      group.addTask { [self] in try await untilServicesAreResolved(timeout) }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  private func untilServicesAreResolved(_ timeout: Duration) async throws {
    let path = path
    let peer = peer
    let generation = generation
    let linked = Lock(false)
    try await core.wait("reading the services of \(peer)", timeout) { state -> Void? in
      guard state.generation == generation, let device = state.cache.properties(path, Self.interface) else {
        throw BlueZError(.staleHandle, "\(peer) went away while its services were read")
      }
      guard device["Connected"]?.bool == true else {
        if linked.withLock({ $0 }) {
          throw BlueZError(.notConnected, "the link to \(peer) ended while its services were read")
        }
        return nil
      }
      linked.withLock { $0 = true }
      return device["ServicesResolved"]?.bool == true ? () : nil
    }
  }

  /// Makes the link, with the radio to itself.
  private func link(_ timeout: Duration) async throws {
    do {
      try await withRadioToItself {
        try await core.call(path, Self.interface, "Connect", timeout: timeout, doing: "connecting to \(peer)")
      }
    } catch let error as BlueZError {
      if error.code == .timedOut { try await giveUpAttempt() }
      throw error.code == .failed || error.code == .attributeError
        ? BlueZError(.connectFailed, error.message, underlying: error.underlying) : error
    } catch {
      // Cancelled; bluetoothd would go on.
      try await giveUpAttempt()
      throw error
    }
  }

  /// bluetoothd begins to ask the peer for its services before it answers `Connect`.
  private func giveUpAttempt() async throws {
    if isConnected { try await giveUpOnceAnswered() } else { await giveUp() }
  }

  /// Has the session not scan while a link is made; without effect when there is one.
  func withRadioToItself(_ body: () async throws -> Void) async throws {
    guard !isConnected else { return try await body() }
    let discovery = property("Adapter")?.objectPath.flatMap(core.discovery(at:))
    await discovery?.pause()
    defer { discovery?.resume() }
    try await body()
  }
}

/// Why an attempt failed, and at which step.
struct ConnectFailure: Error {
  let phase: ConnectMachine.Phase
  let error: BlueZError

  static func `in`<R>(_ phase: ConnectMachine.Phase, _ body: () async throws -> R) async throws -> R {
    do {
      return try await body()
    } catch let error as BlueZError {
      throw ConnectFailure(phase: phase, error: error)
    }
  }
}
