import BlueZ

/// The services, characteristics and values of a device.
struct Inspection: Sendable {
  var address: String
  var addressType: String?
  var name: String?
  var appearance: UInt16?
  var rssi: Int?
  var mtu: Int?
  var services: [Service] = []
  /// The number of values that were not read before the timeout.
  var unread = 0

  struct Service: Sendable {
    var uuid: BluetoothUUID
    var handle: UInt16?
    var isPrimary = true
    var includes: [BluetoothUUID] = []
    var characteristics: [Characteristic] = []
  }

  struct Characteristic: Sendable {
    var uuid: BluetoothUUID
    var handle: UInt16?
    var flags: CharacteristicFlags
    /// `nil` when it was not read.
    var value: Reading?
    var descriptors: [Descriptor] = []
  }

  struct Descriptor: Sendable {
    var uuid: BluetoothUUID
    var handle: UInt16?
    /// `nil` when it was not read.
    var value: Reading?
  }

  enum Reading: Sendable, Hashable {
    case value([UInt8])
    /// The reason why the value could not be read.
    case refused(String)
  }
}
