import BlueZ
import Streams

/// A GATT service of a device, or of this program.
open class CBService: CBAttribute, @unchecked Sendable {
  struct Shared {
    weak var peripheral: CBPeripheral?
    var includedServices: [CBService]?
    var characteristics: [CBCharacteristic]?
  }

  let shared: Lock<Shared>
  /// The service in bluetoothd; `nil` for one of this program.
  let remote: RemoteService?

  /// A Boolean value that indicates whether the service is primary; a secondary one is only included by others.
  public let isPrimary: Bool

  init(uuid: CBUUID, isPrimary: Bool) {
    remote = nil
    shared = Lock(Shared())
    self.isPrimary = isPrimary
    super.init(uuid: uuid)
  }

  init(_ remote: RemoteService, of peripheral: CBPeripheral) {
    self.remote = remote
    shared = Lock(Shared(peripheral: peripheral))
    isPrimary = remote.isPrimary
    super.init(uuid: CBUUID(remote.uuid))
  }

  /// The device that the service belongs to; `nil` for a service of this program.
  open weak var peripheral: CBPeripheral? { shared.withLock { $0.peripheral } }

  /// The services that this one includes; `nil` until they were discovered.
  open var includedServices: [CBService]? { shared.withLock { $0.includedServices } }

  /// The characteristics that were discovered; `nil` before that.
  open var characteristics: [CBCharacteristic]? { shared.withLock { $0.characteristics } }
}
