import BlueZ
import Streams

/// The characteristic that carries links over GATT.
struct LinkValueCharacteristic {
  let characteristic: LocalCharacteristic
  let radio: LinkValueHub.Radio
  /// Who takes what is written: the hub, which in turn holds this characteristic, until the phone ends.
  let receiver = Lock<(@Sendable (WriteRequest) -> Void)?>(nil)

  init(_ access: AccessPolicy, _ control: AccessControl, _ addressesSinglePeer: Bool) {
    let receiver = receiver
    // A confirmation for each value would cost a round trip, and the link has its own.
    let flags = access.readFlags.subtracting([.read, .encryptRead, .encryptAuthenticatedRead])
      .union(access.writeFlags.subtracting(.write))
    let characteristic = LocalCharacteristic(
      BluetoothUUID(stringLiteral: EdgeCoderUUIDs.linkValues), flags,
      writes: .handler { request in
        try control.check(request.peer)
        guard request.offset == 0, let receive = receiver.withLock({ $0 }) else { throw AttributeRefusal.failed }
        receive(request)
      })
    self.characteristic = characteristic
    radio = .init(
      valueLimit: { mtu in
        let own = Chunker.notificationSize(mtu: mtu)
        return addressesSinglePeer ? own : min(own, characteristic.longestNotification ?? own)
      },
      notify: { value, peer in
        try await control.waitUntilFriendsOnlyListen()
        if addressesSinglePeer, let peer = peer.bluez {
          try await characteristic.notify(value, to: peer)
        } else {
          try await characteristic.notify(value)
        }
      })
  }
}
