package import Streams

/// The v2 muxes of a phone over GATT: finds the central and the mux of each value.
///
/// bluetoothd reports the writer of a value, so no central can write to the mux of another. Before 5.76 bluetoothd sends a
/// notification to all subscribers; there the number of the mux identifies its central, and no two centrals have the same.
package final class MuxValueHub: Sendable {
  /// The operations that send values to a central.
  package struct Radio: Sendable {
    var valueLimit: @Sendable (Int) -> Int
    var notify: @Sendable ([UInt8], PeerID) async throws -> Void

    /// Creates a radio from its operations.
    /// - Parameters:
    ///   - valueLimit: Returns the limit on a value for a central with the given MTU, in bytes.
    ///   - notify: Sends a value to a central.
    package init(
      valueLimit: @Sendable @escaping (Int) -> Int, notify: @Sendable @escaping ([UInt8], PeerID) async throws -> Void
    ) {
      self.valueLimit = valueLimit
      self.notify = notify
    }
  }

  private struct Mux {
    let channel: GATTMuxChannel
    var mtu: Int
  }

  /// The limit on the number of muxes, whose windows fit into a socket of bluetoothd; see ``MuxValueFlow/window``.
  static let limit = 5
  /// The number of messages about unknown muxes that may be under way; beyond it their centrals wait in vain.
  static let closingLimit = 8

  private let radio: Radio
  private let source: BoundedStream<any MuxChannel>.Source
  private let muxes = Lock<[PeerID: Mux]>([:])
  private let closing = Lock(0)

  /// - Parameter source: The receiver of new channels.
  package init(_ radio: Radio, source: BoundedStream<any MuxChannel>.Source) {
    self.radio = radio
    self.source = source
  }

  /// Receives a value from a central.
  /// - Parameter mtu: The ATT MTU of its connection.
  /// - Returns: `true` if the value belonged to a mux, or started one.
  package func receive(_ bytes: [UInt8], mtu: Int, from peer: PeerID) -> Bool {
    guard let value = MuxValue(bytes) else { return false }
    let belongsToOther = muxes.withLock { $0.contains { $0.key != peer && $0.value.channel.mux == value.mux } }
    // The owner of the number would receive a reply, too.
    guard !belongsToOther else { return false }
    if let channel = muxes.withLock({ $0[peer]?.channel }), channel.mux == value.mux {
      muxes.withLock { $0[peer]?.mtu = mtu }
      channel.deliver(value)
      return true
    }
    guard value.mayStart, let channel = start(value.mux, of: peer, mtu) else {
      // The central of an unknown mux must notice that it is closed.
      if value.kind == .piece || value.kind == .last { sendClose(value.mux, peer) }
      return false
    }
    channel.deliver(value)
    return true
  }

  /// Starts a mux, which closes the previous one of the central.
  private func start(_ number: UInt16, of peer: PeerID, _ mtu: Int) -> GATTMuxChannel? {
    end(peer)
    guard muxes.withLock({ $0.count }) < Self.limit else { return nil }
    let radio = radio
    let channel = GATTMuxChannel(
      mux: number, peer: peer,
      bearer: .init(
        valueLimit: { [weak self] in radio.valueLimit(self?.mtu(of: peer) ?? mtu) },
        send: { try await radio.notify($0, peer) }, onClose: { [weak self] in self?.remove(number, of: peer) }))
    muxes.withLock { $0[peer] = Mux(channel: channel, mtu: mtu) }
    guard source.yield(channel) else {
      channel.end()
      return nil
    }
    return channel
  }

  private func sendClose(_ number: UInt16, _ peer: PeerID) {
    let mayClose = closing.withLock { count in
      guard count < Self.closingLimit else { return false }
      count += 1
      return true
    }
    guard mayClose else { return }
    let radio = radio
    let closing = closing
    Task {
      defer { closing.withLock { $0 -= 1 } }
      do {
        try await radio.notify(MuxValue(mux: number, kind: .close).encoded, peer)
      } catch {
        // The central is not subscribed, so it waits for nothing.
      }
    }
  }

  private func mtu(of peer: PeerID) -> Int? { muxes.withLock { $0[peer]?.mtu } }

  private func remove(_ number: UInt16, of peer: PeerID) {
    muxes.withLock { if $0[peer]?.channel.mux == number { $0[peer] = nil } }
  }

  /// Closes the mux of a central that disconnected.
  package func end(_ peer: PeerID) { muxes.withLock { $0.removeValue(forKey: peer) }?.channel.end() }

  /// Closes all muxes, because the service is unreachable.
  func endAll() {
    let all = muxes.withLock { muxes in
      defer { muxes = [:] }
      return Array(muxes.values)
    }
    for mux in all { mux.channel.end() }
  }
}
