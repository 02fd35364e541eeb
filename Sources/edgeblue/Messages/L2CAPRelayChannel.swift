import BlueZ
import MessageSending

/// A channel between a sender and a relay over LE L2CAP: one SDU is one packet.
struct L2CAPRelayChannel: RelayChannel {
  /// The PSM on which relays listen, unless they are told another one.
  static let usualPSM: UInt16 = 0xb5
  /// The service that a relay advertises, so that senders find and connect to it.
  static let service: BluetoothUUID = "eb10c5a1-7e1a-4b5e-9d0e-6d65737361ff"

  let channel: L2CAPChannel

  func send(_ packet: [UInt8]) async throws { try await channel.send(packet, timeout: MessageRelay.patience) }

  func receive() async throws -> [UInt8]? { try await channel.nextPacket() }

  func close() async { await channel.flushAndClose() }
}
