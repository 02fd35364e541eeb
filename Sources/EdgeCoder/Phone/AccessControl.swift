import BlueZ
import Logging
import Timing

/// The enforcement of an access policy on the connections of an adapter.
///
/// Permitted centrals are admitted, others are disconnected, and nothing is sent while a connected central without
/// permission could receive it. Each access is checked twice: bluetoothd admits only encrypted connections to a
/// characteristic (its flags), and this type checks that the peer is bonded and on the allow list.
final class AccessControl: Sendable {
  private let adapter: Adapter
  private let policy: AccessPolicy
  private let time: TimeSource
  /// Called for each refusal.
  private let onRefusal: @Sendable (Peer, AccessRefusal) -> Void

  init(
    _ adapter: Adapter, _ policy: AccessPolicy, time: TimeSource = .continuous,
    onRefusal: @escaping @Sendable (Peer, AccessRefusal) -> Void
  ) {
    self.adapter = adapter
    self.policy = policy
    self.time = time
    self.onRefusal = onRefusal
  }

  /// Checks an access of a peer.
  /// - Throws: `AttributeRefusal.notAuthorized`.
  func check(_ peer: Peer) throws {
    guard policy.mode != .open else { return }
    guard let device = adapter.device(peer), device.isBonded else { return try refuse(peer, .neverPaired) }
    guard admits(device) else { return try refuse(peer, .notAllowed) }
  }

  private func refuse(_ peer: Peer, _ reason: AccessRefusal) throws {
    onRefusal(peer, reason)
    throw AttributeRefusal.notAuthorized
  }

  private func admits(_ device: Device) -> Bool { policy.admits(device.address, isBonded: device.isBonded) }

  // MARK: Connections

  /// Tries every connection, present and new, until the task is cancelled.
  func watch() async {
    guard policy.mode != .open else { return }
    let connections = adapter.connectionEvents()
    await withDiscardingTaskGroup { group in
      for peer in adapter.connectedPeers { group.addTask { await self.tryConnection(of: peer) } }
      for await case .connected(let peer) in connections { group.addTask { await self.tryConnection(of: peer) } }
      group.cancelAll()
    }
  }

  private func tryConnection(of peer: Peer) async {
    var trial = ConnectionTrial(at: time.now)
    do {
      while let device = adapter.device(peer), device.isConnected {
        let link = try adapter.connections().first { $0.address == device.address }
        // A connection that this host initiated is not one to its service.
        guard link?.isCentral != true else { return }
        let evidence = ConnectionTrial.Evidence(
          isBonded: device.isBonded, isAdmitted: admits(device), isEncrypted: link?.isEncrypted ?? false)
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
    onRefusal(device.peer, reason)
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
        for device in others { try await disconnect(device, .notAllowed) }
      } else {
        try await time.sleep(for: .milliseconds(20))
      }
    }
  }

  private func unpermittedReceivers() throws -> [Device] {
    try adapter.connections().filter(\.isEncrypted).compactMap { adapter.device($0.address) }.filter { !admits($0) }
  }
}
