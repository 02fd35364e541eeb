/// A voltage in volts, up to 1022, in steps of 1/64.
public typealias Voltage = Quantity<VoltageKind>

/// The kind of number of the characteristic Voltage, 0x2B18.
public enum VoltageKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2b18
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Voltage"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 2, "V", steps: 64, 0...65408, unknown: 0xffff)
}

/// An electric current in amperes, up to 655.34, in steps of 0.01.
public typealias ElectricCurrent = Quantity<ElectricCurrentKind>

/// The kind of number of the characteristic Electric Current, 0x2AEE.
public enum ElectricCurrentKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2aee
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Electric Current"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 2, "A", steps: 100, unknown: 0xffff)
}

/// An electric power in watts, in steps of 0.1.
public typealias ElectricPower = Quantity<ElectricPowerKind>

/// The kind of number of the characteristic Power, 0x2B05.
public enum ElectricPowerKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2b05
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Power"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 3, "W", steps: 10, unknown: 0xffffff)
}

/// A transmit power in dBm, −100 to 20.
public typealias TransmitPower = Quantity<TransmitPowerKind>

/// The kind of number of the characteristic Tx Power Level, 0x2A07.
public enum TransmitPowerKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a07
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Tx Power Level"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(signed: 1, "dBm", -100...20)
}

/// An interval between measurements in seconds; 0 stands for no periodic measurements.
public typealias MeasurementInterval = Quantity<MeasurementIntervalKind>

/// The kind of number of the characteristic Measurement Interval, 0x2A21.
public enum MeasurementIntervalKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a21
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Measurement Interval"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 2, "s")
}
