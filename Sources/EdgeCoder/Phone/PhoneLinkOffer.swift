import BlueZ
import Streams

/// A phone's v2 links: takes them over each bearer it offers, and says in a characteristic which those are.
final class PhoneLinkOffer: Sendable {
  /// What it takes links over; L2CAP is missing where the kernel gives no channels but another bearer was asked for.
  let bearers: Set<LinkBearer>
  /// What says that there are v2 links, and where; and what carries those over GATT.
  let characteristics: [LocalCharacteristic]
  /// The links of centrals that may ask.
  let channels: BoundedStream<any LinkChannel>
  /// The links over GATT.
  let hub: LinkValueHub?
  private let values: LinkValueCharacteristic?
  private let listener: L2CAPListener?
  private let acceptor: Task<Void, Never>?

  /// - Parameters:
  ///   - bearers: at least one.
  ///   - addressesSinglePeer: whether a notification can be sent to one central alone.
  ///   - refused: called for each value that belonged to no link.
  /// - Throws: `BlueZError`, as `Adapter.listen`, when L2CAP is the only bearer.
  init(
    _ adapter: Adapter, _ access: AccessPolicy, _ control: AccessControl, bearers: Set<LinkBearer>,
    addressesSinglePeer: Bool, refused: @Sendable @escaping () -> Void
  ) throws {
    // As many as the kernel's queue has; a central whose link does not fit uses the characteristics.
    let (channels, source) = BoundedStream.make(of: (any LinkChannel).self, limit: 8, policy: .dropNewest)
    self.channels = channels
    var listener: L2CAPListener?
    if bearers.contains(.l2cap) {
      do {
        listener = try adapter.listen(security: access.securityLevel, mtu: LinkFrame.longest)
      } catch {
        guard bearers.contains(.gatt) else { throw error }
      }
    }
    self.listener = listener
    acceptor = listener.map { listener in Task { await Self.accept(from: listener, control, source) } }
    values = bearers.contains(.gatt) ? LinkValueCharacteristic(access, control, addressesSinglePeer) : nil
    hub = values.map { values in
      let hub = LinkValueHub(values.radio, source: source)
      values.receiver.withLock {
        $0 = { request in
          if !hub.receive(request.value, mtu: request.mtu, from: PeerID(request.peer)) { refused() }
        }
      }
      return hub
    }
    let offer = LinkOffer(psm: listener?.psm, hasValues: values != nil)
    self.bearers = Set(offer.bearers)
    let bytes = offer.bytes
    let offering = LocalCharacteristic(
      BluetoothUUID(stringLiteral: EdgeCoderUUIDs.link),
      access.readFlags.subtracting([.notify, .encryptNotify, .encryptAuthenticatedNotify]),
      read: { request in
        try control.check(request.peer)
        return bytes
      })
    characteristics = [offering] + (values.map { [$0.characteristic] } ?? [])
  }

  private static func accept(
    from listener: L2CAPListener, _ control: AccessControl, _ source: BoundedStream<any LinkChannel>.Source
  ) async {
    var accepted = listener.makeAsyncIterator()
    while !Task.isCancelled {
      do {
        guard let channel = try await accepted.next() else { break }
        // Who is refused, `check` has told.
        guard (try? control.check(channel.peer)) != nil, source.yield(L2CAPLinkChannel(channel)) else {
          channel.close()
          continue
        }
      } catch {
        // A channel that could not be taken, as with too many open files: its central sees it end.
      }
    }
  }

  func close() {
    acceptor?.cancel()
    listener?.close()
    values?.receiver.withLock { $0 = nil }
    hub?.endAll()
  }
}
