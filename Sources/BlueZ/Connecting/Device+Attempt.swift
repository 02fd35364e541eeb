import DBus
import Timing

/// The phases of one connection attempt.
extension Device {
  /// Connects, waits until the services can be used, and checks for those that are required.
  func attempt(
    _ timeout: Duration, _ lifetime: LinkLifetime, requiring required: [BluetoothUUID: Set<BluetoothUUID>]
  ) async throws {
    try await ConnectFailure.in(.connection) {
      try await untilNoLinkEnds(timeout)
      try check()
      // bluetoothd 5.66 would never reply, and would not work for this device from then on.
      guard !isBlocked else {
        throw BlueZError(.notPermitted, "\(peer) is blocked", hint: "setBlocked(false) admits it again")
      }
      guard !isConnected else { return core.state.withLock { $0.leases.join(path, lifetime) } }
      try await link(timeout, lifetime)
    }
    try await ConnectFailure.in(.services) {
      do {
        try await waitForServices(timeout)
        // bluetoothd may signal that the services are resolved before it signals the services. It replies after both.
        try await core.refresh(path, Self.interface, doing: "reading the properties of \(peer)")
        try await refreshMTU()
        for (service, characteristics) in required {
          for characteristic in characteristics { _ = try self.characteristic(characteristic, in: service) }
        }
      } catch let error as BlueZError where error.code == .timedOut || error.code == .notSupported {
        // A connection without the services is of no use, and the next attempt must not reuse it.
        if error.code == .timedOut { try await giveUpOnceAnswered() } else { await giveUp() }
        throw error
      } catch let error as CancellationError {
        // bluetoothd would keep a connection that has no user.
        try await giveUpOnceAnswered()
        throw error
      }
    }
  }

  /// The interval of polling: bluetoothd 5.66 does not always signal that Connected and ServicesResolved changed.
  private static let checkInterval = Duration.seconds(1)

  private func waitForServices(_ timeout: Duration) async throws {
    // bluetoothd may not have signalled yet that there is a link. When it replies that there is none, the link was lost
    // again.
    try await core.refresh(path, Self.interface, doing: "reading the properties of \(peer)")
    try await withThrowingTaskGroup { [self] group in
      group.addTask { [self] in
        while true {
          try await Task.sleep(for: Self.checkInterval, clock: .steady)
          // A change that this finds wakes the waiting task.
          try await core.refresh(path, Self.interface, doing: "reading the properties of \(peer)")
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
    try await core.wait("reading the services of \(peer)", timeout) { state -> Void? in
      guard state.generation == generation, let device = state.cache.properties(path, Self.interface) else {
        throw BlueZError(.staleHandle, "\(peer) was removed while its services were read")
      }
      guard device["Connected"]?.bool == true else {
        throw BlueZError(.notConnected, "the connection to \(peer) ended while its services were read")
      }
      return device["ServicesResolved"]?.bool == true ? () : nil
    }
  }

  /// Connects while the session does not scan.
  private func link(_ timeout: Duration, _ lifetime: LinkLifetime) async throws {
    do {
      await core.claimCapability()
      try await withRadioToItself {
        let attempt = core.state.withLock { $0.leases.beginAttempt(path, lifetime) }
        do {
          // The link may be lost before this task resumes.
          try await core.call(
            .init(path, Self.interface, "Connect"), timeout: timeout, doing: "connecting to \(peer)",
            onArrival: { [core] _ in core.state.withLock { $0.leases.endAttempt(attempt, hasLink: true) } })
        } catch {
          // Of an attempt without a reply bluetoothd may still make a link.
          let isRefused = (error as? BlueZError).map { $0.code != .timedOut } ?? false
          core.state.withLock { state in
            let isLinked = state.cache.properties(path, Self.interface)?["Connected"]?.bool == true
            state.leases.endAttempt(attempt, hasLink: isLinked || !isRefused)
          }
          throw error
        }
      }
    } catch let error as BlueZError {
      if error.code == .timedOut { try await giveUpAttempt() }
      throw error.code == .failed || error.code == .attributeError
        ? BlueZError(notConnecting: error) : error
    } catch {
      // Cancelled; bluetoothd would continue.
      try await giveUpAttempt()
      throw error
    }
  }

  /// Ends an attempt. bluetoothd starts to read the peer's services before it replies to `Connect`.
  private func giveUpAttempt() async throws {
    if isConnected { try await giveUpOnceAnswered() } else { await giveUp() }
  }

  /// Pauses the session's scans while a connection is established; without effect when there is one.
  /// - Parameter adapter: The adapter's object; `nil` for the one of the device that bluetoothd knows.
  func withRadioToItself(at adapter: ObjectPath? = nil, _ body: () async throws -> Void) async throws {
    guard !isConnected else { return try await body() }
    let discovery = (adapter ?? property("Adapter")?.objectPath).flatMap(core.discovery(at:))
    await discovery?.pause()
    defer { discovery?.resume() }
    try await body()
  }
}

/// The error of an attempt, and the phase in which it occurred.
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
