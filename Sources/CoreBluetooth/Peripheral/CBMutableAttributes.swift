import BlueZ
import Streams

/// The access that a characteristic of this program grants.
public struct CBAttributePermissions: OptionSet, Sendable, Hashable {
  /// The bits, one for each permission.
  public let rawValue: UInt

  /// Creates a set of permissions from bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// The value can be read by every central.
  public static let readable = CBAttributePermissions(rawValue: 0x01)
  /// The value can be written by every central.
  public static let writeable = CBAttributePermissions(rawValue: 0x02)
  /// The value can be read over an encrypted connection only.
  public static let readEncryptionRequired = CBAttributePermissions(rawValue: 0x04)
  /// The value can be written over an encrypted connection only.
  public static let writeEncryptionRequired = CBAttributePermissions(rawValue: 0x08)
}

/// A GATT service that this program provides.
///
/// ```swift
/// let pulse = CBMutableCharacteristic(
///   type: CBUUID(string: "2A37"), properties: .notify, value: nil, permissions: .readable)
/// let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
/// service.characteristics = [pulse]
/// ```
open class CBMutableService: CBService, @unchecked Sendable {
  /// Creates a service without characteristics.
  public init(type UUID: CBUUID, primary isPrimary: Bool) {
    super.init(uuid: UUID, isPrimary: isPrimary)
  }

  /// The services that this one includes.
  open override var includedServices: [CBService]? {
    get { shared.withLock { $0.includedServices } }
    set { shared.withLock { $0.includedServices = newValue } }
  }

  /// The characteristics of the service, to be set before the service is added.
  open override var characteristics: [CBCharacteristic]? {
    get { shared.withLock { $0.characteristics } }
    set {
      shared.withLock { $0.characteristics = newValue }
      for characteristic in newValue ?? [] { characteristic.shared.withLock { $0.service = self } }
    }
  }
}

/// A GATT characteristic that this program provides.
open class CBMutableCharacteristic: CBCharacteristic, @unchecked Sendable {
  private struct Own {
    var permissions: CBAttributePermissions
    var subscribers: [CBCentral] = []
    var local: LocalCharacteristic?
  }

  private let own: Lock<Own>

  /// Creates a characteristic that a service can have.
  /// - Parameters:
  ///   - UUID: The UUID of the characteristic's type.
  ///   - properties: The operations that the characteristic permits.
  ///   - value: A value that never changes; with `nil` the delegate is asked for it.
  ///   - permissions: The access that the value grants.
  public init(
    type UUID: CBUUID, properties: CBCharacteristicProperties, value: Data?, permissions: CBAttributePermissions
  ) {
    own = Lock(Own(permissions: permissions))
    super.init(uuid: UUID, properties: properties, value: value)
  }

  /// The access that the value grants.
  open var permissions: CBAttributePermissions {
    get { own.withLock { $0.permissions } }
    set { own.withLock { $0.permissions = newValue } }
  }

  /// The centrals that are subscribed; `nil` when there are none.
  open var subscribedCentrals: [CBCentral]? {
    own.withLock { $0.subscribers.isEmpty ? nil : $0.subscribers }
  }

  /// The operations that the characteristic permits.
  open override var properties: CBCharacteristicProperties {
    get { shared.withLock { $0.properties } }
    set { shared.withLock { $0.properties = newValue } }
  }

  /// The value that never changes; `nil` when the delegate is asked for it.
  open override var value: Data? {
    get { shared.withLock { $0.value } }
    set { shared.withLock { $0.value = newValue } }
  }

  /// The descriptors, to be set before the service is added.
  open override var descriptors: [CBDescriptor]? {
    get { shared.withLock { $0.descriptors } }
    set {
      shared.withLock { $0.descriptors = newValue }
      for descriptor in newValue ?? [] { descriptor.shared.withLock { $0.characteristic = self } }
    }
  }

  /// The characteristic in `BlueZ`, while its service is added.
  var local: LocalCharacteristic? {
    get { own.withLock { $0.local } }
    set { own.withLock { $0.local = newValue } }
  }

  func subscribe(_ central: CBCentral) { own.withLock { $0.subscribers.append(central) } }

  /// Removes a subscriber.
  /// - Returns: The subscriber, if it was one.
  func unsubscribe(_ peer: Peer) -> CBCentral? {
    own.withLock { own in
      own.subscribers.firstIndex { $0.peer == peer }.map { own.subscribers.remove(at: $0) }
    }
  }

  /// The flags of `BlueZ` that correspond to the properties and permissions.
  var flags: CharacteristicFlags {
    let properties = properties
    let permissions = permissions
    var flags: CharacteristicFlags = []
    if properties.contains(.broadcast) { flags.insert(.broadcast) }
    if properties.contains(.read) {
      flags.insert(permissions.contains(.readEncryptionRequired) ? [.read, .encryptRead] : .read)
    }
    let encryptsWrites = permissions.contains(.writeEncryptionRequired)
    if properties.contains(.write) { flags.insert(encryptsWrites ? [.write, .encryptWrite] : .write) }
    if properties.contains(.writeWithoutResponse) {
      flags.insert(encryptsWrites ? [.writeWithoutResponse, .encryptWrite] : .writeWithoutResponse)
    }
    if properties.contains(.authenticatedSignedWrites) { flags.insert(.authenticatedSignedWrites) }
    if properties.contains(.notify) { flags.insert(.notify) }
    if properties.contains(.indicate) { flags.insert(.indicate) }
    if properties.contains(.notifyEncryptionRequired) { flags.insert([.notify, .encryptNotify]) }
    if properties.contains(.indicateEncryptionRequired) { flags.insert([.indicate, .encryptIndicate]) }
    return flags
  }
}

/// A GATT descriptor that this program provides.
open class CBMutableDescriptor: CBDescriptor, @unchecked Sendable {
  /// Creates a descriptor whose value never changes: a `String` or `Data`.
  public init(type UUID: CBUUID, value: Any?) {
    let data = (value as? String).map { Data($0.utf8) } ?? value as? Data
    super.init(uuid: UUID, value: data)
  }
}
