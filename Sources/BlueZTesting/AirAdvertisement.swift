import BlueZ
import DBus

/// The advertisement of an adapter as the others receive it: the properties of a `Device1`.
struct AirAdvertisement: Sendable, Hashable {
  var name: String?
  var services: [String] = []
  var manufacturerData: Value?
  var serviceData: Value?
  var txPower: Int16?
  var appearance: UInt16?
  var isConnectable = true
  var isDiscoverable = true
  /// `random` for a recorded device with such an address.
  var addressType: String?

  /// Creates the advertisement of a stranger.
  init(
    _ name: String?, _ services: [BluetoothUUID], _ manufacturerData: [UInt16: [UInt8]], isConnectable: Bool
  ) {
    self.name = name
    self.services = services.map(\.description)
    self.isConnectable = isConnectable
    guard !manufacturerData.isEmpty else { return }
    self.manufacturerData = .dictionary(
      of: "qv", manufacturerData.map { .init(.uint16($0.key), .variant(.bytes($0.value))) })
  }

  /// Creates an advertisement from the properties of a program's `LEAdvertisement1`.
  /// - Throws: `DBusError` as bluetoothd reports it.
  init(_ properties: [String: Value], alias: String) throws {
    guard let type = properties["Type"]?.string, ["peripheral", "broadcast"].contains(type) else {
      throw DBusError.bluez("Failed", "Failed to parse advertisement.")
    }
    let includes = Set(properties["Includes"]?.strings ?? [])
    isConnectable = type == "peripheral"
    isDiscoverable = properties["Discoverable"]?.bool ?? isConnectable
    name = properties["LocalName"]?.string ?? (includes.contains("local-name") ? alias : nil)
    services = (properties["ServiceUUIDs"]?.strings ?? []).compactMap { BluetoothUUID($0)?.description }
    manufacturerData = Self.byCompany(properties["ManufacturerData"])
    serviceData = properties["ServiceData"]?.properties.map(Value.properties)
    txPower = includes.contains("tx-power") ? properties["TxPower"]?.integer() ?? 0 : nil
    appearance = properties["Appearance"]?.integer()
  }

  /// Returns manufacturer data as `Device1` presents it, whatever layers of variants it came in.
  private static func byCompany(_ value: Value?) -> Value? {
    guard let entries = value?.entries, !entries.isEmpty else { return nil }
    return .dictionary(of: "qv", entries.map { .init($0.key.unwrapped, .variant($0.value.unwrapped)) })
  }

  /// Returns the properties of a `Device1` that the advertisement determines.
  func properties(rssi: Int16) -> [String: Value] {
    var properties: [String: Value] = ["RSSI": .int16(rssi)]
    if let name { properties["Name"] = .string(name) }
    if let name { properties["Alias"] = .string(name) }
    if !services.isEmpty { properties["UUIDs"] = .strings(services) }
    properties["ManufacturerData"] = manufacturerData
    properties["ServiceData"] = serviceData
    properties["TxPower"] = txPower.map(Value.int16)
    properties["AddressType"] = addressType.map(Value.string)
    properties["Appearance"] = appearance.map(Value.uint16)
    return properties
  }
}

/// The discovery filter of one client.
struct ScanFilter: Sendable, Equatable {
  var services: Set<String> = []
  var rssi: Int?
  var pathLoss: Int?
  var pattern: String?
  var duplicates = false

  /// Creates the filter of a client that set none.
  init() {}

  init(_ options: [String: Value]) throws {
    services = Set((options["UUIDs"]?.strings ?? []).compactMap { BluetoothUUID($0)?.description })
    rssi = options["RSSI"]?.integer()
    pathLoss = options["Pathloss"]?.integer()
    pattern = options["Pattern"]?.string
    duplicates = options["DuplicateData"]?.bool ?? false
    let isFine = rssi.map { (-127...20).contains($0) } ?? true && pathLoss.map { (0...137).contains($0) } ?? true
    guard isFine, rssi == nil || pathLoss == nil else {
      throw DBusError.bluez("InvalidArguments", "Invalid arguments in method call")
    }
  }

  func matches(_ air: AirAdvertisement, _ address: BluetoothAddress, rssi heard: Int16) -> Bool {
    if let pattern {
      guard pattern.isEmpty || air.name?.hasPrefix(pattern) == true || address.description.hasPrefix(pattern) else {
        return false
      }
    } else if !air.isDiscoverable {
      return false
    }
    if let rssi, heard < rssi { return false }
    if let pathLoss {
      guard let power = air.txPower, Int(power) - Int(heard) <= pathLoss else { return false }
    }
    return services.isEmpty || !services.isDisjoint(with: air.services)
  }
}

extension AirAdvertisement {
  /// Adds the content of another advertisement of the same adapter.
  mutating func add(_ other: AirAdvertisement) {
    name = name ?? other.name
    services += other.services.filter { !services.contains($0) }
    manufacturerData = manufacturerData ?? other.manufacturerData
    serviceData = serviceData ?? other.serviceData
    txPower = txPower ?? other.txPower
    appearance = appearance ?? other.appearance
    isConnectable = isConnectable || other.isConnectable
    isDiscoverable = isDiscoverable || other.isDiscoverable
  }
}
