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
  /// Opens a channel of the kernel with a security level; tests without a kernel's Bluetooth replace it.
  var openChannel: @Sendable (Device, UInt16, SecurityLevel) async throws -> any RelayChannel = {
    L2CAPRelayChannel(
      channel: try await $0.openChannel(psm: $1, security: $2, mtu: L2CAPRelayChannel.longestPacket))
  }

  /// Opens a channel to the relay, with the security of the mode: the kernel opens none over keys that are worth less.
  /// - Throws: `PhoneConnectionFailure` when a user must act, before any message is sent; `BlueZError`.
  func open() async throws -> any RelayChannel {
    let device = try await find()
    let channel = try await openChannel(device, psm, policy.securityLevel)
    do {
      try check(device)
    } catch {
      await channel.close()
      throw error
    }
    return channel
  }

  /// Checks the connection to the relay, whose encryption the kernel knows.
  /// - Throws: `PhoneConnectionFailure` for a relay that may not be used; `BlueZError`.
  private func check(_ device: Device) throws {
    // The admission may have ended while the channel was opened.
    if let refusal = admission.refusal(of: device, at: adapter) { throw refusal }
    if let refusal = try admission.refusalOfConnection(to: device, at: adapter) { throw refusal }
  }

  /// Returns the relay, if it is one that this host may use.
  func find() async throws -> Device {
    let device = try await adapter.find(relay, timeout: .seconds(20))
    // Before the channel, for which the kernel would pair by itself.
    if let refusal = admission.refusal(of: device, at: adapter) { throw refusal }
    return device
  }

  private var admission: PhoneAdmission {
    PhoneAdmission(policy: policy, bonds: bonds, connections: connections)
  }

  /// Returns a guard of the bonds with relays, for as long as a sender runs; `nil` where none are listed.
  func bondGuard() -> BondGuard? { admission.bondGuard(at: adapter) }

  /// The transport of a sender that uses the relay.
  var transport: RelayTransport { RelayTransport { try await open() } }
}
