import BlueZ
import DBus

/// A phone's v2 links: listens for L2CAP channels, and says where in a characteristic.
final class LinkListener: Sendable {
  /// What says that there is a v2 link, and where.
  let characteristic: LocalCharacteristic
  /// The channels of centrals that may ask.
  let channels: BoundedStream<any LinkChannel>
  private let listener: L2CAPListener
  private let acceptor: Task<Void, Never>

  /// - Throws: `BlueZError`, as `Adapter.listen`.
  init(_ adapter: Adapter, _ access: AccessPolicy, _ control: AccessControl) throws {
    let listener = try adapter.listen(security: access.securityLevel, mtu: L2CAPLinkChannel.mtu)
    let offer = LinkOffer(psm: listener.psm).bytes
    characteristic = LocalCharacteristic(
      BluetoothUUID(stringLiteral: EdgeCoderUUIDs.link),
      access.readFlags.subtracting([.notify, .encryptNotify, .encryptAuthenticatedNotify]),
      read: { request in
        try control.check(request.peer)
        return offer
      })
    // As many as the kernel's queue has; a central whose channel does not fit is closed, and uses the characteristics.
    let (channels, source) = BoundedStream.make(of: (any LinkChannel).self, limit: 8, policy: .dropNewest)
    self.listener = listener
    self.channels = channels
    acceptor = Task {
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
      source.finish()
    }
  }

  func close() {
    acceptor.cancel()
    listener.close()
  }
}

extension AccessPolicy {
  /// What an L2CAP channel demands of its link.
  var securityLevel: SecurityLevel {
    switch mode {
    case .open: .low
    case .encrypted: .medium
    case .authenticated: .high
    }
  }
}
