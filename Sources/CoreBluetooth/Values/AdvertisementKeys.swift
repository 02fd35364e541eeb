import BlueZ

/// The key of the local name in advertising data, a `String`.
public let CBAdvertisementDataLocalNameKey = "kCBAdvDataLocalName"
/// The key of the manufacturer data in advertising data: `Data` that begins with the company identifier.
public let CBAdvertisementDataManufacturerDataKey = "kCBAdvDataManufacturerData"
/// The key of the service data in advertising data, a dictionary of `CBUUID` and `Data`.
public let CBAdvertisementDataServiceDataKey = "kCBAdvDataServiceData"
/// The key of the advertised services, an array of `CBUUID`.
public let CBAdvertisementDataServiceUUIDsKey = "kCBAdvDataServiceUUIDs"
/// The key of the services in Apple's overflow area, which no device outside iOS has.
public let CBAdvertisementDataOverflowServiceUUIDsKey = "kCBAdvDataHashedServiceUUIDs"
/// The key of the transmit power in advertising data, an `NSNumber` of dBm.
public let CBAdvertisementDataTxPowerLevelKey = "kCBAdvDataTxPowerLevel"
/// The key of whether a device can be connected to, which bluetoothd does not report.
public let CBAdvertisementDataIsConnectable = "kCBAdvDataIsConnectable"
/// The key of the services that a device solicits, an array of `CBUUID`.
public let CBAdvertisementDataSolicitedServiceUUIDsKey = "kCBAdvDataSolicitedServiceUUIDs"

extension AdvertisementData {
  /// The advertising data as a delegate of CoreBluetooth receives it.
  var dictionary: [String: Any] {
    var all: [String: Any] = [:]
    if let name { all[CBAdvertisementDataLocalNameKey] = name }
    if !services.isEmpty {
      all[CBAdvertisementDataServiceUUIDsKey] = services.sorted { $0.description < $1.description }.map { CBUUID($0) }
    }
    // A device has one element of this kind; where bluetoothd collected several, the lowest company is as good as any.
    if let (company, bytes) = manufacturerData.min(by: { $0.key < $1.key }) {
      let identifier = [UInt8(truncatingIfNeeded: company), UInt8(truncatingIfNeeded: company >> 8)]
      all[CBAdvertisementDataManufacturerDataKey] = Data(identifier + bytes)
    }
    if !serviceData.isEmpty {
      let entries = serviceData.map { (CBUUID($0.key), Data($0.value)) }
      all[CBAdvertisementDataServiceDataKey] = Dictionary(uniqueKeysWithValues: entries)
    }
    if let txPower { all[CBAdvertisementDataTxPowerLevelKey] = NSNumber(value: txPower) }
    let solicited = solicitedServices
    if !solicited.isEmpty { all[CBAdvertisementDataSolicitedServiceUUIDsKey] = solicited.map { CBUUID($0) } }
    return all
  }

  /// The services of the elements List of Service Solicitation UUIDs (Core Specification Supplement, A.1.10).
  private var solicitedServices: [BluetoothUUID] {
    [(0x14 as UInt8, 2), (0x1f, 4), (0x15, 16)].flatMap { type, size in
      let bytes = other[type] ?? []
      return stride(from: 0, to: bytes.count - bytes.count % size, by: size).compactMap {
        BluetoothUUID(littleEndian: bytes[$0..<($0 + size)])
      }
    }
  }
}
