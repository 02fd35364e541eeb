import BlueZ

/// A v2 mux channel over an LE L2CAP channel: one SDU is one frame.
final class L2CAPMuxChannel: MuxChannel {
  let peer: PeerID
  private let channel: L2CAPChannel

  init(_ channel: L2CAPChannel) {
    self.channel = channel
    peer = PeerID(channel.peer)
  }

  var sendLimit: Int { channel.sendMTU }
  var receiveLimit: Int { channel.receiveMTU }

  func send(_ frame: [UInt8]) async throws { try await channel.send(frame) }

  func receive() async throws -> [UInt8]? { try await channel.nextPacket() }

  func close() async { await channel.flushAndClose() }
}
