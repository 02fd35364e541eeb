import DBus

/// What a device says of itself over the air: its advertisement and its scan response together, as bluetoothd last
/// heard them.
public struct AdvertisementData: Sendable, Hashable {
  /// The local name; bluetoothd keeps the last one it heard or read.
  public var name: String?
  /// The services it was heard to advertise, and those that were read from it; see ``servicesWereRead``.
  public var services: Set<BluetoothUUID>
  /// Data by service.
  public var serviceData: [BluetoothUUID: [UInt8]]
  /// Data by company identifier.
  public var manufacturerData: [UInt16: [UInt8]]
  /// The power it says it sends with, in dBm.
  public var txPower: Int?
  /// The strength it was heard with, in dBm; `nil` when the controller does not measure it (it then reports 127, Core
  /// Specification 4.E.7.7.65.2), or when the device is not heard now.
  public var rssi: Int?
  /// The flags; `nil` when it sends none. BlueZ 5.66 tells them only when started as `bluetoothd -E`.
  public var flags: Flags?
  /// What it looks like to a person, as assigned by the Bluetooth SIG; `nil` when it does not say.
  public var appearance: UInt16?
  /// The content of every other element, by AD type. BlueZ 5.66 tells it only when started as `bluetoothd -E`.
  public var other: [UInt8: [UInt8]] = [:]

  /// Makes one, for tests.
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

  /// Whether ``services`` are what was read from the device, in this life of bluetoothd or an earlier one. bluetoothd
  /// does not tell then which of them it advertises, and 5.66 does not notice when it begins or ceases to offer one.
  public var servicesWereRead: Bool {
    // Every GATT server has the Generic Attribute service and nobody advertises it.
    services.contains(BluetoothUUID(short: 0x1801))
  }

  /// What the air took, in dB: sent power less received strength; `nil` when either is unknown.
  public var pathLoss: Int? {
    guard let txPower, let rssi else { return nil }
    return txPower - rssi
  }

  /// The Flags element (Core Specification Supplement, A.1.3).
  public struct Flags: OptionSet, Sendable, Hashable {
    /// The octet as it is sent.
    public let rawValue: UInt8

    /// Takes the octet.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Discoverable for a limited time.
    public static let limitedDiscoverable = Flags(rawValue: 0x01)
    /// Discoverable.
    public static let generalDiscoverable = Flags(rawValue: 0x02)
    /// The device is LE only.
    public static let classicNotSupported = Flags(rawValue: 0x04)
    /// Its controller can do Classic and LE at once.
    public static let simultaneousController = Flags(rawValue: 0x08)
  }
}

extension AdvertisementData {
  /// Reads the properties of an `org.bluez.Device1`; what is malformed counts as absent.
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
  /// A dictionary of byte arrays; entries that are none are left out.
  fileprivate func bytes<Key: Hashable>(by key: (Value) -> Key?) -> [Key: [UInt8]] {
    var all: [Key: [UInt8]] = [:]
    for entry in self?.entries ?? [] {
      if let key = key(entry.key), let bytes = entry.value.bytes { all[key] = bytes }
    }
    return all
  }
}
