import BlueZ
import Streams

/// The characteristic that carries v2 muxes over GATT.
struct MuxValueCharacteristic {
  let characteristic: LocalCharacteristic
  let radio: MuxValueHub.Radio
  /// The receiver of writes until the phone stops: the hub, which in turn refers to this characteristic.
  let receiver = Lock<(@Sendable (WriteRequest) -> Void)?>(nil)

  init(_ access: AccessPolicy, _ control: AccessControl, _ addressesSinglePeer: Bool) {
    let receiver = receiver
    // A confirmation of each value would cost a round trip, and the mux has its own.
    let flags = access.notifyFlags.union(access.writeFlags.subtracting(.write))
    let characteristic = LocalCharacteristic(
      BluetoothUUID(stringLiteral: EdgeCoderUUIDs.muxValues), flags,
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
        try await control.waitForPermittedReceivers()
        if addressesSinglePeer, let peer = peer.bluez {
          try await characteristic.notify(value, to: peer)
        } else {
          try await characteristic.notify(value)
        }
      })
  }
}
