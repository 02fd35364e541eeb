import BlueZ
import EdgeCoder
import MessageSending

/// The sender's end of a relay: finds the relay, and opens a channel to it for each message.
struct RelayDialer: Sendable {
  let adapter: Adapter
  let relay: BluetoothAddress
  let psm: UInt16
  let policy: AccessPolicy
  /// The bonds that a user made; a relay is one of the devices that `edgeblue pair with` has paired with.
  let bonds: BondStore
  let connections: KernelConnections

  /// Opens a channel to the relay.
  /// - Throws: `PhoneConnectionFailure` when a user must act, before any connection; `BlueZError`.
  func open() async throws -> L2CAPRelayChannel {
    let device = try await find()
    let channel = try await device.openChannel(
      psm: psm, security: policy.securityLevel, mtu: L2CAPRelayChannel.longestPacket)
    return L2CAPRelayChannel(channel: channel)
  }

  /// Returns the relay, if it is one that this host may use.
  func find() async throws -> Device {
    let device = try await adapter.find(relay, timeout: .seconds(20))
    let admission = PhoneAdmission(
      policy: policy, bonds: bonds, connections: connections, security: { try await $0.provides($1) })
    // Before the channel, for which the kernel would pair by itself.
    if let refusal = admission.refusal(of: device, at: adapter) { throw refusal }
    return device
  }

  /// The transport of a sender that uses the relay.
  var transport: RelayTransport { RelayTransport { try await open() } }
}
