/// A temperature in degrees Celsius, −273.15 to 327.67, in steps of 0.01.
public typealias Temperature = Quantity<TemperatureKind>

/// The kind of number of the characteristic Temperature, 0x2A6E.
public enum TemperatureKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a6e
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Temperature"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(signed: 2, "°C", steps: 100, -27315...32767, unknown: -32768)
}

/// A relative humidity in percent, in steps of 0.01.
public typealias Humidity = Quantity<HumidityKind>

/// The kind of number of the characteristic Humidity, 0x2A6F.
public enum HumidityKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a6f
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Humidity"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 2, "%", steps: 100, 0...10000, unknown: 0xffff)
}

/// An air pressure in pascals, in steps of 0.1.
public typealias Pressure = Quantity<PressureKind>

/// The kind of number of the characteristic Pressure, 0x2A6D.
public enum PressureKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a6d
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Pressure"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 4, "Pa", steps: 10)
}

/// A height above sea level in meters, in steps of 0.01.
public typealias Elevation = Quantity<ElevationKind>

/// The kind of number of the characteristic Elevation, 0x2A6C.
public enum ElevationKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a6c
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Elevation"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(signed: 3, "m", steps: 100)
}

/// A dew point in whole degrees Celsius, −128 to 127.
public typealias DewPoint = Quantity<DewPointKind>

/// The kind of number of the characteristic Dew Point, 0x2A7B.
public enum DewPointKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a7b
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Dew Point"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(signed: 1, "°C")
}

/// A felt temperature in heat, in whole degrees Celsius.
public typealias HeatIndex = Quantity<HeatIndexKind>

/// The kind of number of the characteristic Heat Index, 0x2A7A.
public enum HeatIndexKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a7a
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Heat Index"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(signed: 1, "°C")
}

/// A felt temperature in wind, in whole degrees Celsius.
public typealias WindChill = Quantity<WindChillKind>

/// The kind of number of the characteristic Wind Chill, 0x2A79.
public enum WindChillKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a79
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Wind Chill"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(signed: 1, "°C")
}

/// An amount of rain in whole millimeters.
public typealias Rainfall = Quantity<RainfallKind>

/// The kind of number of the characteristic Rainfall, 0x2A78.
public enum RainfallKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a78
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Rainfall"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 2, "mm")
}

/// A number of grains of pollen in a cubic meter.
public typealias PollenConcentration = Quantity<PollenConcentrationKind>

/// The kind of number of the characteristic Pollen Concentration, 0x2A75.
public enum PollenConcentrationKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a75
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Pollen Concentration"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 3, "/m³")
}

/// A concentration of carbon dioxide in parts per million; 65534 stands for all above, too.
public typealias CarbonDioxide = Quantity<CarbonDioxideKind>

/// The kind of number of the characteristic CO2 Concentration, 0x2B8C.
public enum CarbonDioxideKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2b8c
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "CO2 Concentration"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 2, "ppm", 0...0xfffe, unknown: 0xffff)
}
