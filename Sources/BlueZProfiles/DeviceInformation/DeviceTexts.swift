/// A name of a device for people, from its Generic Access service.
public typealias DeviceName = TextValue<DeviceNameKind>

/// The kind of text of the characteristic Device Name, 0x2A00.
public enum DeviceNameKind: TextKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a00
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Device Name"
}

/// A name of the company that made a device.
public typealias ManufacturerName = TextValue<ManufacturerNameKind>

/// The kind of text of the characteristic Manufacturer Name String, 0x2A29.
public enum ManufacturerNameKind: TextKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a29
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Manufacturer Name String"
}

/// A model of a device, as its maker numbers it.
public typealias ModelNumber = TextValue<ModelNumberKind>

/// The kind of text of the characteristic Model Number String, 0x2A24.
public enum ModelNumberKind: TextKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a24
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Model Number String"
}

/// A serial number of one device, as text.
public typealias SerialNumber = TextValue<SerialNumberKind>

/// The kind of text of the characteristic Serial Number String, 0x2A25.
public enum SerialNumberKind: TextKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a25
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Serial Number String"
}

/// A revision of a device's hardware, as text.
public typealias HardwareRevision = TextValue<HardwareRevisionKind>

/// The kind of text of the characteristic Hardware Revision String, 0x2A27.
public enum HardwareRevisionKind: TextKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a27
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Hardware Revision String"
}

/// A revision of a device's firmware, as text.
public typealias FirmwareRevision = TextValue<FirmwareRevisionKind>

/// The kind of text of the characteristic Firmware Revision String, 0x2A26.
public enum FirmwareRevisionKind: TextKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a26
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Firmware Revision String"
}

/// A revision of a device's software, as text.
public typealias SoftwareRevision = TextValue<SoftwareRevisionKind>

/// The kind of text of the characteristic Software Revision String, 0x2A28.
public enum SoftwareRevisionKind: TextKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a28
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Software Revision String"
}
