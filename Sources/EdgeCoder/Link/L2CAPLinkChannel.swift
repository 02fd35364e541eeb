import BlueZ

/// A v2 link over an LE L2CAP channel: one packet is one frame.
final class L2CAPLinkChannel: LinkChannel {
  let peer: PeerID
  private let channel: L2CAPChannel

  init(_ channel: L2CAPChannel) {
    self.channel = channel
    peer = PeerID(channel.peer)
  }

  var sendLimit: Int { channel.sendMTU }
  var receiveLimit: Int { channel.receiveMTU }

  func send(_ frame: [UInt8]) async throws { try await channel.send(frame) }

  func receive() async throws -> [UInt8]? {
    var packets = channel.packets.makeAsyncIterator()
    return try await packets.next()
  }

  func close() async {
    do {
      try await channel.flush(timeout: .seconds(2))
    } catch {
      // The other side takes nothing any more, or is gone; there is nobody to tell.
    }
    channel.close()
  }
}
