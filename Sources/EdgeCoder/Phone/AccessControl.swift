import BlueZ
import Logging
import Timing

/// Holds an adapter's links against an access policy: who may ask is let in, who may not is turned away, and nothing
/// is sent while somebody could hear it who may not.
///
/// Each access is checked twice. bluetoothd lets only encrypted links through to a characteristic (its flags), and
/// here the peer behind the link must be bonded and allowed.
final class AccessControl: Sendable {
  private let adapter: Adapter
  private let policy: AccessPolicy
  private let time: TimeSource
  /// Called with everybody who was turned away.
  private let refused: @Sendable (Peer, AccessRefusal) -> Void

  init(
    _ adapter: Adapter, _ policy: AccessPolicy, time: TimeSource = .continuous,
    refused: @escaping @Sendable (Peer, AccessRefusal) -> Void
  ) {
    self.adapter = adapter
    self.policy = policy
    self.time = time
    self.refused = refused
  }

  /// Lets a request of a peer through.
  /// - Throws: `AttributeRefusal.notAuthorized`.
  func check(_ peer: Peer) throws {
    guard policy.mode != .open else { return }
    guard let device = adapter.device(peer), device.isBonded else { return try refuse(peer, .neverPaired) }
    guard admits(device) else { return try refuse(peer, .notAllowed) }
  }

  private func refuse(_ peer: Peer, _ reason: AccessRefusal) throws {
    refused(peer, reason)
    throw AttributeRefusal.notAuthorized
  }

  private func admits(_ device: Device) -> Bool { policy.admits(device.address, isBonded: device.isBonded) }

  // MARK: Links

  /// Tries every link there is and every new one, until the task is cancelled.
  func watch() async {
    guard policy.mode != .open else { return }
    let connections = adapter.connectionEvents()
    await withDiscardingTaskGroup { group in
      for peer in adapter.connectedPeers { group.addTask { await self.tryLink(of: peer) } }
      for await case .connected(let peer) in connections { group.addTask { await self.tryLink(of: peer) } }
      group.cancelAll()
    }
  }

  private func tryLink(of peer: Peer) async {
    var trial = LinkTrial(at: time.now)
    do {
      while let device = adapter.device(peer), device.isConnected {
        let link = try adapter.connections().first { $0.address == device.address }
        // Links this machine made are not to its service.
        guard link?.isCentral != true else { return }
        let evidence = LinkTrial.Evidence(
          isBonded: device.isBonded, isAdmitted: admits(device), isEncrypted: link?.isEncrypted ?? false)
        switch trial.verdict(on: evidence, at: time.now) {
        case .friend: return
        case .open: try await time.sleep(for: .milliseconds(200))
        case .outsider(let reason): return try await turnAway(device, reason)
        }
      }
    } catch {
      // Cancelled, or the adapter or the device is gone, and the link with it.
    }
  }

  private func turnAway(_ device: Device, _ reason: AccessRefusal) async throws {
    refused(device.peer, reason)
    try await device.disconnect()
  }

  /// Waits until nobody is linked who could hear a notification and may not; who stays is turned away again.
  ///
  /// Below 5.76 bluetoothd sends a notification to all who are subscribed, and it keeps the subscriptions of bonded
  /// peers from link to link. One of those who is not on the list is turned away, but that takes two seconds. Who is
  /// not bonded cannot subscribe, and of who has not encrypted the link yet the kernel holds all traffic back.
  /// - Throws: `BlueZError`, or `CancellationError`.
  func waitUntilFriendsOnlyListen() async throws {
    guard policy.mode != .open else { return }
    let deadline = time.now + LinkTrial.encryptionLimit
    while true {
      let others = try eavesdroppers()
      if others.isEmpty { return }
      if time.now >= deadline {
        for device in others { try await turnAway(device, .notAllowed) }
      } else {
        try await time.sleep(for: .milliseconds(20))
      }
    }
  }

  private func eavesdroppers() throws -> [Device] {
    try adapter.connections().filter(\.isEncrypted).compactMap { adapter.device($0.address) }.filter { !admits($0) }
  }
}
