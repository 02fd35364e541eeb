import BlueZ
import EdgeCoder

/// The names of services, characteristics and descriptors: assigned numbers, EdgeCoder's, and a few common ones of
/// vendors.
enum AttributeNames {
  static func service(_ uuid: BluetoothUUID) -> String? { AssignedNumbers.service(uuid) ?? others[uuid] }

  static func characteristic(_ uuid: BluetoothUUID) -> String? { AssignedNumbers.characteristic(uuid) ?? others[uuid] }

  static func descriptor(_ uuid: BluetoothUUID) -> String? { AssignedNumbers.descriptor(uuid) }

  /// Returns the four digits of an assigned number, or all 36 characters of another UUID.
  static func short(_ uuid: BluetoothUUID) -> String {
    let text = uuid.description
    return uuid.advertisedSize == 2 ? String(text.dropFirst(4).prefix(4)) : text
  }

  private static let others: [BluetoothUUID: String] = {
    var names: [BluetoothUUID: String] = [
      "6e400001-b5a3-f393-e0a9-e50e24dcca9e": "Nordic UART", "6e400002-b5a3-f393-e0a9-e50e24dcca9e": "Nordic UART RX",
      "6e400003-b5a3-f393-e0a9-e50e24dcca9e": "Nordic UART TX", "8d53dc1d-1db7-4cd3-868b-8a527460aa84": "SMP",
      "da2e7828-fbce-4e01-ae9e-261174997c48": "SMP Characteristic",
    ]
    for (text, name) in [
      (EdgeCoderUUIDs.service, "EdgeCoder"), (EdgeCoderUUIDs.request, "EdgeCoder Request"),
      (EdgeCoderUUIDs.response, "EdgeCoder Response"), (EdgeCoderUUIDs.status, "EdgeCoder Status"),
    ] {
      if let uuid = BluetoothUUID(text) { names[uuid] = name }
    }
    return names
  }()
}
