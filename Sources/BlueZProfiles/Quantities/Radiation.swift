/// An ultraviolet index without a unit, as a whole number.
public typealias UVIndex = Quantity<UVIndexKind>

/// The kind of number of the characteristic UV Index, 0x2A76.
public enum UVIndexKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a76
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "UV Index"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 1, "")
}

/// A power of light on a surface in watts per square meter, in steps of 0.1.
public typealias Irradiance = Quantity<IrradianceKind>

/// The kind of number of the characteristic Irradiance, 0x2A77.
public enum IrradianceKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a77
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Irradiance"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 2, "W/m²", steps: 10)
}

/// A brightness in lux, up to 167772.14, in steps of 0.01.
public typealias Illuminance = Quantity<IlluminanceKind>

/// The kind of number of the characteristic Illuminance, 0x2AFB.
public enum IlluminanceKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2afb
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Illuminance"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 3, "lx", steps: 100, unknown: 0xffffff)
}
