import BlueZ
import Glibc
import Streams

/// An L2CAP socket of a session over the fake.
final class VirtualSocket: ChannelSocket {
  private let channels: VirtualChannels
  private let id: Int
  private let attempt = Lock<Task<Void, Never>?>(nil)

  init(_ channels: VirtualChannels) {
    self.channels = channels
    id = channels.change { $0.open() }
  }

  private init(_ channels: VirtualChannels, accepted id: Int) {
    self.channels = channels
    self.id = id
  }

  deinit { close() }

  func close() {
    attempt.withLock { $0 }?.cancel()
    channels.change { $0.close(id) }
  }

  func wait(for direction: PacketDirection) async -> Bool { await channels.wait(id, for: direction) }

  // MARK: Listening

  func listen(
    at address: L2CAPSocketAddress, _ security: SecurityLevel, mtu: Int, backlog: Int, doing: String
  ) throws {
    let adapter = try channels.adapter(at: address.address, doing)
    let error = channels.change { table in
      table.listen(id, at: adapter, psm: address.psm) { place in
        .init(place: place, security: security, mtu: UInt16(clamping: mtu), backlog: max(backlog, 1))
      }
    }
    if let error { throw BlueZError(errno: error, while: doing) }
  }

  func psm(doing: String) throws -> UInt16 {
    guard case .listening(let listener) = channels.change({ $0[id] }) else {
      throw BlueZError(errno: EBADF, while: doing)
    }
    return listener.place.psm
  }

  func accept(doing: String) throws -> (any ChannelSocket, L2CAPSocketAddress)? {
    channels.change { $0.accept(id) }.map { (VirtualSocket(channels, accepted: $0.socket), $0.peer) }
  }

  // MARK: Connecting

  func startConnecting(
    from own: L2CAPSocketAddress, to peer: L2CAPSocketAddress, _ security: SecurityLevel, mtu: Int, limit: Duration,
    doing: String
  ) throws {
    let adapter = try channels.adapter(at: own.address, doing)
    channels.change { $0.beginConnecting(id, at: adapter, mtu: UInt16(clamping: mtu), security) }
    let request = VirtualChannels.Request(
      socket: id, adapter: adapter, peer: peer.address, psm: peer.psm, security: security)
    attempt.withLock { $0 = Task { [channels] in await channels.connect(request) } }
  }

  func finishConnecting(doing: String) async throws {
    repeat {
      try Task.checkCancellation()
      switch channels.change({ $0[id] }) {
      case .open?: return
      case .failed(let error)?: throw BlueZError(errno: error, while: doing)
      case .idle?, .listening?: throw BlueZError(errno: EINVAL, while: doing)
      case .connecting?, nil: break
      }
    } while await wait(for: .writing)
    throw BlueZError(.notConnected, "\(doing): closed on this side")
  }

  // MARK: The channel

  func mtus(_ doing: String) throws -> (receive: UInt16, send: UInt16?) {
    let channel = try channel(doing)
    return (channel.receiveMTU, channel.sendMTU)
  }

  func securityLevel(_ doing: String) throws -> UInt8 {
    let level = channels.change { table -> SecurityLevel? in
      if case .open(let channel) = table[id] {
        return channel.ending == nil ? channel.link.security.withLock { $0 } : nil
      }
      return table.security(of: id)
    }
    guard let level else { throw BlueZError(errno: ENOTCONN, while: doing) }
    return level.rawValue
  }

  /// No PHY was changed, so that none is known.
  func phys(_ doing: String) throws -> UInt32 {
    guard try channel(doing).ending == nil else { throw BlueZError(errno: ENOTCONN, while: doing) }
    return 0
  }

  func receiveNow(longest: Int) -> ReceivedPacket { channels.change { $0.receive(at: id) } }

  func sendNow(_ sdu: [UInt8]) -> SentPacket { channels.change { $0.send(sdu, from: id) } }

  func unsent(_ doing: String) throws -> UInt32 {
    let channel = try channel(doing)
    guard channel.ending == nil else { throw BlueZError(errno: ENOTCONN, while: doing) }
    return UInt32(clamping: channel.unsent.reduce(0) { $0 + $1.count })
  }

  private func channel(_ doing: String) throws -> ChannelTable.Channel {
    guard case .open(let channel) = channels.change({ $0[id] }) else {
      throw BlueZError(.notConnected, "\(doing): closed on this side")
    }
    return channel
  }
}
