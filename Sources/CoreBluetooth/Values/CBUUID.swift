import BlueZ

/// A Bluetooth UUID of 16, 32 or 128 bits.
///
/// ```swift
/// let heartRate = CBUUID(string: "180D")
/// print(heartRate.uuidString, heartRate == CBUUID(string: "0000180D-0000-1000-8000-00805F9B34FB"))  // 180D true
/// ```
open class CBUUID: NSObject, @unchecked Sendable {
  // Sound: the only stored property never changes.
  let bluetoothUUID: BluetoothUUID

  /// Creates a UUID from 4, 8 or 36 characters. A malformed text is a programming error and traps, as on Apple's
  /// platforms.
  public init(string theString: String) {
    bluetoothUUID = BluetoothUUID(stringLiteral: theString)
  }

  /// Creates a UUID from 2, 4 or 16 bytes, the most significant one first. Another number traps.
  public init(data theData: Data) {
    guard let uuid = BluetoothUUID(littleEndian: theData.reversed()) else {
      preconditionFailure("a Bluetooth UUID has 2, 4 or 16 bytes, not \(theData.count)")
    }
    bluetoothUUID = uuid
  }

  /// Creates a Bluetooth UUID from a UUID of Foundation.
  public init(nsuuid theUUID: UUID) {
    bluetoothUUID = BluetoothUUID(uuid: theUUID.uuid)
  }

  /// Creates a Bluetooth UUID from one of `BlueZ`.
  init(_ uuid: BluetoothUUID) {
    bluetoothUUID = uuid
  }

  /// The bytes in the shortest form, the most significant one first.
  open var data: Data { Data(bluetoothUUID.littleEndian.reversed()) }

  /// The shortest form in capital letters: 4, 8 or 36 characters.
  open var uuidString: String {
    guard let short = bluetoothUUID.short else { return bluetoothUUID.description.uppercased() }
    let digits = String(short, radix: 16, uppercase: true)
    return String(repeating: "0", count: (short <= 0xffff ? 4 : 8) - digits.count) + digits
  }

  /// The assigned name where there is one, otherwise the shortest form.
  open override var description: String {
    AssignedNumbers.service(bluetoothUUID) ?? AssignedNumbers.characteristic(bluetoothUUID)
      ?? AssignedNumbers.descriptor(bluetoothUUID) ?? uuidString
  }

  /// Returns `true` if both are the same UUID, in whichever form they were written.
  open override func isEqual(_ object: Any?) -> Bool { (object as? CBUUID)?.bluetoothUUID == bluetoothUUID }

  /// The hash value of the UUID.
  open override var hash: Int { bluetoothUUID.hashValue }
}

/// The UUID of the descriptor Characteristic Extended Properties.
public let CBUUIDCharacteristicExtendedPropertiesString = "2900"
/// The UUID of the descriptor Characteristic User Description.
public let CBUUIDCharacteristicUserDescriptionString = "2901"
/// The UUID of the descriptor Client Characteristic Configuration.
public let CBUUIDClientCharacteristicConfigurationString = "2902"
/// The UUID of the descriptor Server Characteristic Configuration.
public let CBUUIDServerCharacteristicConfigurationString = "2903"
/// The UUID of the descriptor Characteristic Presentation Format.
public let CBUUIDCharacteristicFormatString = "2904"
/// The UUID of the descriptor Characteristic Aggregate Format.
public let CBUUIDCharacteristicAggregateFormatString = "2905"
