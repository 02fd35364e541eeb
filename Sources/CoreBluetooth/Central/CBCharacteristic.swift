import BlueZ
import Streams

/// The operations that a characteristic permits.
public struct CBCharacteristicProperties: OptionSet, Sendable, Hashable {
  /// The bits, one for each property.
  public let rawValue: UInt

  /// Creates a set of properties from bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// The value can be included in advertisements.
  public static let broadcast = CBCharacteristicProperties(rawValue: 0x01)
  /// The value can be read by a central.
  public static let read = CBCharacteristicProperties(rawValue: 0x02)
  /// The value can be written without a response.
  public static let writeWithoutResponse = CBCharacteristicProperties(rawValue: 0x04)
  /// The value can be written with a response.
  public static let write = CBCharacteristicProperties(rawValue: 0x08)
  /// The characteristic sends notifications, which are not confirmed.
  public static let notify = CBCharacteristicProperties(rawValue: 0x10)
  /// The characteristic sends indications, which the peer confirms.
  public static let indicate = CBCharacteristicProperties(rawValue: 0x20)
  /// The value can be written without a response, with a signature.
  public static let authenticatedSignedWrites = CBCharacteristicProperties(rawValue: 0x40)
  /// The characteristic has the descriptor for extended properties.
  public static let extendedProperties = CBCharacteristicProperties(rawValue: 0x80)
  /// Subscribing to notifications needs an encrypted connection.
  public static let notifyEncryptionRequired = CBCharacteristicProperties(rawValue: 0x100)
  /// Subscribing to indications needs an encrypted connection.
  public static let indicateEncryptionRequired = CBCharacteristicProperties(rawValue: 0x200)

  init(_ flags: CharacteristicFlags) {
    let pairs: [(CharacteristicFlags, CBCharacteristicProperties)] = [
      (.broadcast, .broadcast), (.read, .read), (.writeWithoutResponse, .writeWithoutResponse), (.write, .write),
      (.notify, .notify), (.indicate, .indicate), (.authenticatedSignedWrites, .authenticatedSignedWrites),
      (.extendedProperties, .extendedProperties), (.encryptNotify, .notifyEncryptionRequired),
      (.encryptIndicate, .indicateEncryptionRequired),
    ]
    self.init(pairs.filter { flags.contains($0.0) }.map(\.1))
  }
}

/// The procedure with which a value is written.
public enum CBCharacteristicWriteType: Int, Sendable {
  /// The device answers the write, and the delegate hears of it.
  case withResponse = 0
  /// The device does not answer the write.
  case withoutResponse = 1
}

/// A GATT characteristic of a device, or of this program.
open class CBCharacteristic: CBAttribute, @unchecked Sendable {
  struct Shared {
    weak var service: CBService?
    var properties: CBCharacteristicProperties
    var value: Data?
    var descriptors: [CBDescriptor]?
    var isNotifying = false
  }

  let shared: Lock<Shared>
  /// The characteristic in bluetoothd; `nil` for one of this program.
  let remote: RemoteCharacteristic?

  init(uuid: CBUUID, properties: CBCharacteristicProperties, value: Data?) {
    remote = nil
    shared = Lock(Shared(properties: properties, value: value))
    super.init(uuid: uuid)
  }

  init(_ remote: RemoteCharacteristic, of service: CBService) {
    self.remote = remote
    shared = Lock(Shared(service: service, properties: CBCharacteristicProperties(remote.flags)))
    super.init(uuid: CBUUID(remote.uuid))
  }

  /// The service that the characteristic belongs to.
  open weak var service: CBService? { shared.withLock { $0.service } }

  /// The operations that the characteristic permits.
  open var properties: CBCharacteristicProperties { shared.withLock { $0.properties } }

  /// The value that was last read or received; `nil` before that.
  open var value: Data? { shared.withLock { $0.value } }

  /// The descriptors that were discovered; `nil` before that.
  open var descriptors: [CBDescriptor]? { shared.withLock { $0.descriptors } }

  /// A Boolean value that indicates whether the app is subscribed to the value.
  open var isNotifying: Bool { shared.withLock { $0.isNotifying } }
}
