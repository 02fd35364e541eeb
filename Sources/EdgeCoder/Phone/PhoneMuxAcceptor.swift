import BlueZ
import Streams

/// The acceptor of v2 muxes at a phone, over each bearer that it offers in a characteristic.
final class PhoneMuxAcceptor: Sendable {
  /// The offered bearers; without L2CAP where the kernel offers no channels and GATT was requested, too.
  let bearers: Set<MuxBearer>
  /// The characteristic with the offer, and the one that carries muxes over GATT.
  let characteristics: [LocalCharacteristic]
  /// The channels of permitted centrals.
  let channels: BoundedStream<any MuxChannel>
  /// The muxes over GATT.
  let hub: MuxValueHub?
  private let values: MuxValueCharacteristic?
  private let listener: L2CAPListener?
  private let acceptor: Task<Void, Never>?

  /// - Parameters:
  ///   - bearers: The bearers to offer, at least one.
  ///   - addressesSinglePeer: A Boolean value that indicates whether a notification can be sent to a single central.
  ///   - onRefusal: Called with the central of each value that belonged to no mux.
  /// - Throws: `BlueZError`, as `Adapter.listen`, when L2CAP is the only bearer.
  init(
    _ adapter: Adapter, _ access: AccessPolicy, _ control: AccessControl, bearers: Set<MuxBearer>,
    addressesSinglePeer: Bool, onRefusal: @Sendable @escaping (PeerID) -> Void
  ) throws {
    // As many as the queue of the kernel has; a central whose channel does not fit uses the characteristics.
    let (channels, source) = BoundedStream.make(of: (any MuxChannel).self, limit: 8, policy: .dropNewest)
    self.channels = channels
    var listener: L2CAPListener?
    if bearers.contains(.l2cap) {
      do {
        listener = try adapter.listen(security: access.securityLevel, mtu: MuxFrame.longest)
      } catch {
        guard bearers.contains(.gatt) else { throw error }
      }
    }
    self.listener = listener
    acceptor = listener.map { listener in Task { await Self.accept(from: listener, control, source) } }
    values = bearers.contains(.gatt) ? MuxValueCharacteristic(access, control, addressesSinglePeer) : nil
    hub = values.map { values in
      let hub = MuxValueHub(values.radio, source: source)
      values.receiver.withLock {
        $0 = { request in
          let peer = PeerID(request.peer)
          if !hub.receive(request.value, mtu: request.mtu, from: peer) { onRefusal(peer) }
        }
      }
      return hub
    }
    let offer = MuxOffer(psm: listener?.psm, hasValues: values != nil)
    self.bearers = Set(offer.bearers)
    let bytes = offer.bytes
    let offering = LocalCharacteristic(
      BluetoothUUID(stringLiteral: EdgeCoderUUIDs.muxOffer),
      access.readFlags,
      read: { request in
        try control.check(request.peer)
        return bytes
      })
    characteristics = [offering] + (values.map { [$0.characteristic] } ?? [])
  }

  private static func accept(
    from listener: L2CAPListener, _ control: AccessControl, _ source: BoundedStream<any MuxChannel>.Source
  ) async {
    var accepted = listener.makeAsyncIterator()
    while !Task.isCancelled {
      do {
        guard let channel = try await accepted.next() else { break }
        if !offer(L2CAPMuxChannel(channel), of: channel.peer, control, source) { channel.close() }
      } catch {
        // The channel could not be accepted, for example with too many open files: its central sees it close.
      }
    }
  }

  /// Offers a channel to the phone, if its peer is permitted and there is space.
  /// - Returns: `false` if the channel must be closed without a word.
  static func offer(
    _ channel: any MuxChannel, of peer: Peer, _ control: AccessControl,
    _ source: BoundedStream<any MuxChannel>.Source
  ) -> Bool {
    do {
      try control.check(peer)
      return source.yield(channel)
    } catch {
      return false  // `check` has reported the refusal
    }
  }

  func close() {
    acceptor?.cancel()
    listener?.close()
    values?.receiver.withLock { $0 = nil }
    hub?.endAll()
  }
}
