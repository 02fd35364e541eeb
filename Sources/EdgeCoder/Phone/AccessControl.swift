package import BlueZ
import Logging
import Streams
package import Timing

/// The enforcement of an access policy on the connections of an adapter.
///
/// Permitted centrals are admitted, others are disconnected, and nothing is sent while a connected central without
/// permission could receive it. Each access is checked twice: bluetoothd admits only encrypted connections to a
/// characteristic (its flags) and the kernel only such to a channel (its security level), and this type checks that the
/// peer is bonded and on the allow list, and that the kernel has encrypted its connection.
package final class AccessControl: Sendable {
  private let adapter: Adapter
  package let policy: AccessPolicy
  private let bonds: BondStore?
  private let connections: KernelConnections
  private let time: TimeSource
  /// Called for each refusal; set once, before the service exists.
  let onRefusal = Lock<@Sendable (Peer, AccessRefusal) -> Void>({ _, _ in })

  /// Creates a control; `bonds` of `nil` admit every bond of the adapter.
  package init(
    _ adapter: Adapter, _ policy: AccessPolicy, bonds: BondStore?, time: TimeSource = .continuous,
    connections: @escaping KernelConnections
  ) {
    self.adapter = adapter
    self.policy = policy
    self.bonds = bonds
    self.time = time
    self.connections = connections
  }

  /// Checks an access of a peer.
  /// - Throws: `AttributeRefusal.notAuthorized`.
  package func check(_ peer: Peer) throws {
    guard policy.mode != .open else { return }
    guard let device = adapter.device(peer), device.isBonded else { return try refuse(peer, .neverPaired) }
    if let refusal = refusal(of: device) { return try refuse(peer, refusal) }
    guard isEncrypted(device) else { return try refuse(peer, .neverEncrypted) }
  }

  /// Returns `true` if the kernel has encrypted the connection of a device.
  private func isEncrypted(_ device: Device) -> Bool {
    do {
      return try connections(adapter).contains { $0.address == device.address && $0.isEncrypted }
    } catch {
      return false  // the adapter is gone, and its connections with it
    }
  }

  private func refuse(_ peer: Peer, _ reason: AccessRefusal) throws {
    report(peer, reason)
    throw AttributeRefusal.notAuthorized
  }

  private func report(_ peer: Peer, _ reason: AccessRefusal) { onRefusal.withLock { $0 }(peer, reason) }

  /// Returns the reason why a bonded device is not admitted; `nil` if it is.
  private func refusal(of device: Device) -> AccessRefusal? {
    guard policy.admits(device.address, isBonded: device.isBonded) else { return .notAllowed }
    guard let bonds else { return nil }
    return bonds.bond(of: device.address, at: adapter.address, as: .central) == nil ? .notAdmitted : nil
  }

  private func admits(_ device: Device) -> Bool { refusal(of: device) == nil }

  // MARK: Connections

  /// Returns the watch over the connections and bonds of the adapter, which misses none from now on.
  package func watch() -> Watch { Watch(self) }

  /// The watch over the connections and bonds of an adapter: it ends those that are not permitted.
  ///
  /// It notices everything from its creation on, so that a role that creates it before it is reachable is never without.
  package struct Watch: Sendable {
    private let control: AccessControl
    private let connections: BoundedStream<Adapter.ConnectionEvent>
    private let present: [Peer]
    private let bondGuard: BondGuard?

    fileprivate init(_ control: AccessControl) {
      self.control = control
      let adapter = control.adapter
      connections = adapter.connectionEvents()
      present = adapter.connectedPeers
      bondGuard = control.bonds.map { BondGuard(adapter, $0, of: .central, connections: control.connections) }
    }

    /// Tries every connection, and guards the bonds, until the task is cancelled; returns at once in the open mode.
    package func run() async {
      guard control.policy.mode != .open else { return }
      await withDiscardingTaskGroup { [control] group in
        if let bondGuard { group.addTask { await bondGuard.run { control.report($0, .identityClaimed) } } }
        for peer in present { group.addTask { await control.tryConnection(of: peer) } }
        for await case .connected(let peer) in connections {
          group.addTask { await control.tryConnection(of: peer) }
        }
        group.cancelAll()
      }
    }
  }

  private func tryConnection(of peer: Peer) async {
    var trial = ConnectionTrial(at: time.now)
    do {
      while let device = adapter.device(peer), device.isConnected {
        let link = try connections(adapter).first { $0.address == device.address }
        // A connection that this host initiated is not one to its service.
        guard link?.isCentral != true else { return }
        let evidence = ConnectionTrial.Evidence(
          isBonded: device.isBonded, refusal: refusal(of: device), isEncrypted: link?.isEncrypted ?? false)
        switch trial.handle(evidence, at: time.now) {
        case .keep: return
        case .wait: try await time.sleep(for: .milliseconds(200))
        case .disconnect(let reason): return try await disconnect(device, reason)
        }
      }
    } catch {
      // Cancelled, or the adapter or the device is gone, and the connection with it.
    }
  }

  private func disconnect(_ device: Device, _ reason: AccessRefusal) async throws {
    report(device.peer, reason)
    try await device.disconnect()
  }

  /// Waits until every connected central that could receive a notification is permitted; others are disconnected after
  /// a timeout.
  ///
  /// Before 5.76 bluetoothd sends a notification to all subscribers, and keeps the subscriptions of bonded peers across
  /// connections. A bonded central that is not on the allow list is disconnected, which takes two seconds. A central that
  /// is not bonded cannot subscribe, and the kernel holds back all traffic of one that has not encrypted its connection.
  /// - Throws: `BlueZError`, or `CancellationError`.
  func waitForPermittedReceivers() async throws {
    guard policy.mode != .open else { return }
    let deadline = time.now + ConnectionTrial.encryptionTimeout
    while true {
      let others = try unpermittedReceivers()
      if others.isEmpty { return }
      if time.now >= deadline {
        for device in others { try await disconnect(device, refusal(of: device) ?? .notAllowed) }
      } else {
        try await time.sleep(for: .milliseconds(20))
      }
    }
  }

  private func unpermittedReceivers() throws -> [Device] {
    try connections(adapter).filter(\.isEncrypted).compactMap { adapter.device($0.address) }.filter { !admits($0) }
  }
}
