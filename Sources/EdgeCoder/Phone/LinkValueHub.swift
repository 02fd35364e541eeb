import Streams

/// A phone's v2 links over GATT: tells whose a value is, and which link of theirs it belongs to.
///
/// bluetoothd says who wrote a value, so nobody can speak on another's link. Below 5.76 it sends a notification to all
/// who are subscribed; there the link's number says whose it is, and no two centrals have the same.
final class LinkValueHub: Sendable {
  /// How a value goes out to a central.
  struct Radio: Sendable {
    /// The longest value that a central with this MTU takes now, in bytes.
    var valueLimit: @Sendable (Int) -> Int
    var notify: @Sendable ([UInt8], PeerID) async throws -> Void
  }

  private struct Link {
    let channel: GATTLinkChannel
    var mtu: Int
  }

  /// How many links there may be; so many windows fit into a socket of bluetoothd, see ``LinkValueFlow/window``.
  static let limit = 5

  private let radio: Radio
  private let source: BoundedStream<any LinkChannel>.Source
  private let links = Lock<[PeerID: Link]>([:])

  /// - Parameter source: where new links go.
  init(_ radio: Radio, source: BoundedStream<any LinkChannel>.Source) {
    self.radio = radio
    self.source = source
  }

  /// A central wrote a value.
  /// - Parameter mtu: the ATT MTU of its connection.
  /// - Returns: whether it belonged to a link, or began one.
  func receive(_ bytes: [UInt8], mtu: Int, from peer: PeerID) -> Bool {
    guard let value = LinkValue(bytes) else { return false }
    let isAnothers = links.withLock { $0.contains { $0.key != peer && $0.value.channel.link == value.link } }
    // An answer would reach the other one, too.
    guard !isAnothers else { return false }
    if let channel = links.withLock({ $0[peer]?.channel }), channel.link == value.link {
      links.withLock { $0[peer]?.mtu = mtu }
      channel.deliver(value)
      return true
    }
    guard value.mayBegin, let channel = begin(value.link, of: peer, mtu) else {
      // Of a link the phone knows nothing of (any more); its central is to notice.
      if value.kind == .piece || value.kind == .last { tellOver(value.link, peer) }
      return false
    }
    channel.deliver(value)
    return true
  }

  /// A central has one link at a time: one that begins another has given the first up.
  private func begin(_ number: UInt16, of peer: PeerID, _ mtu: Int) -> GATTLinkChannel? {
    end(peer)
    guard links.withLock({ $0.count }) < Self.limit else { return nil }
    let radio = radio
    let channel = GATTLinkChannel(
      link: number, peer: peer,
      bearer: .init(
        valueLimit: { [weak self] in radio.valueLimit(self?.mtu(of: peer) ?? mtu) },
        send: { try await radio.notify($0, peer) }, end: { [weak self] in self?.forget(number, of: peer) }))
    links.withLock { $0[peer] = Link(channel: channel, mtu: mtu) }
    guard source.yield(channel) else {
      channel.end()
      return nil
    }
    return channel
  }

  private func tellOver(_ number: UInt16, _ peer: PeerID) {
    let radio = radio
    Task {
      do {
        try await radio.notify(LinkValue(link: number, kind: .close).encoded, peer)
      } catch {
        // It is not subscribed, so it waits for nothing.
      }
    }
  }

  private func mtu(of peer: PeerID) -> Int? { links.withLock { $0[peer]?.mtu } }

  private func forget(_ number: UInt16, of peer: PeerID) {
    links.withLock { if $0[peer]?.channel.link == number { $0[peer] = nil } }
  }

  /// A central has left.
  func end(_ peer: PeerID) { links.withLock { $0.removeValue(forKey: peer) }?.channel.end() }

  /// Everybody has left.
  func endAll() {
    let all = links.withLock { links in
      defer { links = [:] }
      return Array(links.values)
    }
    for link in all { link.channel.end() }
  }
}
