import DBus

/// The advertising data of a device: its advertisement and scan response together, as bluetoothd last received them.
///
/// ```swift
/// let data = device.advertisement
/// if let company = data.manufacturerData.keys.first {
///   print(AssignedNumbers.company(company) ?? "unknown company", data.rssi ?? 0, "dBm")
/// }
/// ```
public struct AdvertisementData: Sendable, Hashable {
  /// The local name; bluetoothd keeps the last one that it received or read.
  public var name: String?
  /// The services that the device advertised, and those that were read from it; see ``servicesWereRead``.
  public var services: Set<BluetoothUUID>
  /// The service data, by the UUID of the service.
  public var serviceData: [BluetoothUUID: [UInt8]]
  /// The manufacturer data, by company identifier.
  public var manufacturerData: [UInt16: [UInt8]]
  /// The transmit power that the device advertises, in dBm.
  public var txPower: Int?
  /// The RSSI in dBm; `nil` when the controller does not measure it (it then reports 127, Core Specification
  /// 4.E.7.7.65.2), or when the device is not being received.
  public var rssi: Int?
  /// The advertising flags; `nil` when the device sends none. BlueZ 5.66 reports them only under `bluetoothd -E`.
  public var flags: Flags?
  /// The appearance value assigned by the Bluetooth SIG; `nil` when the device does not send one.
  public var appearance: UInt16?
  /// The content of all other elements, by AD type. BlueZ 5.66 reports it only under `bluetoothd -E`.
  public var other: [UInt8: [UInt8]] = [:]

  /// Creates advertising data, for tests. The remaining elements are properties.
  public init(
    name: String? = nil, services: Set<BluetoothUUID> = [], serviceData: [BluetoothUUID: [UInt8]] = [:],
    manufacturerData: [UInt16: [UInt8]] = [:], txPower: Int? = nil, rssi: Int? = nil
  ) {
    self.name = name
    self.services = services
    self.serviceData = serviceData
    self.manufacturerData = manufacturerData
    self.txPower = txPower
    self.rssi = rssi
  }

  /// A Boolean value that indicates whether ``services`` were read from the device, by this or an earlier instance of
  /// bluetoothd. bluetoothd then does not report which of them are advertised, and 5.66 does not notice when the device
  /// starts or stops providing one.
  public var servicesWereRead: Bool {
    // Every GATT server has the Generic Attribute service, and no device advertises it.
    services.contains(BluetoothUUID(short: 0x1801))
  }

  /// The path loss in dB: transmit power minus RSSI; `nil` when either is unknown.
  public var pathLoss: Int? {
    guard let txPower, let rssi else { return nil }
    return txPower - rssi
  }

  /// The content of the Flags element (Core Specification Supplement, A.1.3).
  public struct Flags: OptionSet, Sendable, Hashable {
    /// The octet as it is sent.
    public let rawValue: UInt8

    /// Creates flags from the octet.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The device is in limited discoverable mode.
    public static let limitedDiscoverable = Flags(rawValue: 0x01)
    /// The device is in general discoverable mode.
    public static let generalDiscoverable = Flags(rawValue: 0x02)
    /// The device supports LE only, not Bluetooth Classic.
    public static let classicNotSupported = Flags(rawValue: 0x04)
    /// The controller of the device supports Classic and LE at once.
    public static let simultaneousController = Flags(rawValue: 0x08)
  }
}

extension AdvertisementData {
  /// Creates advertising data from the properties of an `org.bluez.Device1`; malformed values are ignored.
  init(_ device: [String: Value], heard services: Set<BluetoothUUID>) {
    self.init(
      name: device["Name"]?.string,
      services: services.union((device["UUIDs"]?.strings ?? []).compactMap(BluetoothUUID.init)),
      serviceData: device["ServiceData"].bytes(by: { $0.string.flatMap(BluetoothUUID.init) }),
      manufacturerData: device["ManufacturerData"].bytes(by: { $0.integer() }),
      txPower: device["TxPower"]?.integer().flatMap { $0 == Self.unmeasured ? nil : $0 },
      rssi: device["RSSI"]?.integer().flatMap { $0 == Self.unmeasured ? nil : $0 })
    flags = (device["AdvertisingFlags"]?.bytes?.first).map(Flags.init(rawValue:))
    appearance = device["Appearance"]?.integer()
    other = device["AdvertisingData"].bytes(by: { $0.integer() })
  }

  private static let unmeasured = 127
}

extension Value? {
  /// Returns a dictionary of byte arrays; other entries are ignored.
  fileprivate func bytes<Key: Hashable>(by key: (Value) -> Key?) -> [Key: [UInt8]] {
    var all: [Key: [UInt8]] = [:]
    for entry in self?.entries ?? [] {
      if let key = key(entry.key), let bytes = entry.value.bytes { all[key] = bytes }
    }
    return all
  }
}
