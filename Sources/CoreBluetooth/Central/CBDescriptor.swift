import BlueZ
import Streams

/// A GATT descriptor of a characteristic.
open class CBDescriptor: CBAttribute, @unchecked Sendable {
  struct Shared {
    weak var characteristic: CBCharacteristic?
    var value: Data?
  }

  let shared: Lock<Shared>
  /// The descriptor in bluetoothd; `nil` for one of this program.
  let remote: RemoteDescriptor?

  init(uuid: CBUUID, value: Data?) {
    remote = nil
    shared = Lock(Shared(value: value))
    super.init(uuid: uuid)
  }

  init(_ remote: RemoteDescriptor, of characteristic: CBCharacteristic) {
    self.remote = remote
    shared = Lock(Shared(characteristic: characteristic))
    super.init(uuid: CBUUID(remote.uuid))
  }

  /// The characteristic that the descriptor belongs to.
  open weak var characteristic: CBCharacteristic? { shared.withLock { $0.characteristic } }

  /// The value that was last read: a `String` for a description (`2901`), an `NSNumber` for flags (`2900`, `2902`,
  /// `2903`), otherwise `Data`.
  open var value: Any? {
    guard let data = shared.withLock({ $0.value }) else { return nil }
    switch uuid.uuidString {
    case CBUUIDCharacteristicUserDescriptionString: return String(decoding: data, as: UTF8.self)
    case CBUUIDCharacteristicExtendedPropertiesString, CBUUIDClientCharacteristicConfigurationString,
      CBUUIDServerCharacteristicConfigurationString:
      return NSNumber(value: data.reversed().reduce(0 as UInt16) { $0 << 8 | UInt16($1) })
    default: return data
    }
  }
}
