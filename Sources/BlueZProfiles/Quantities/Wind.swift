/// A speed of the wind over ground in meters per second, in steps of 0.01.
public typealias TrueWindSpeed = Quantity<TrueWindSpeedKind>

/// The kind of number of the characteristic True Wind Speed, 0x2A70.
public enum TrueWindSpeedKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a70
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "True Wind Speed"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 2, "m/s", steps: 100)
}

/// A direction of the wind in degrees from north, in steps of 0.01.
public typealias TrueWindDirection = Quantity<TrueWindDirectionKind>

/// The kind of number of the characteristic True Wind Direction, 0x2A71.
public enum TrueWindDirectionKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a71
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "True Wind Direction"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 2, "°", steps: 100, 0...35999)
}

/// A speed of the wind at a moving sensor in meters per second, in steps of 0.01.
public typealias ApparentWindSpeed = Quantity<ApparentWindSpeedKind>

/// The kind of number of the characteristic Apparent Wind Speed, 0x2A72.
public enum ApparentWindSpeedKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a72
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Apparent Wind Speed"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 2, "m/s", steps: 100)
}

/// A direction of the wind in degrees from the sensor's heading, in steps of 0.01.
public typealias ApparentWindDirection = Quantity<ApparentWindDirectionKind>

/// The kind of number of the characteristic Apparent Wind Direction, 0x2A73.
public enum ApparentWindDirectionKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a73
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Apparent Wind Direction"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 2, "°", steps: 100, 0...35999)
}

/// A ratio of gusts to the mean speed of the wind, in steps of 0.1.
public typealias GustFactor = Quantity<GustFactorKind>

/// The kind of number of the characteristic Gust Factor, 0x2A74.
public enum GustFactorKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a74
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Gust Factor"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 1, "", steps: 10)
}

/// A magnetic declination in degrees, in steps of 0.01.
public typealias MagneticDeclination = Quantity<MagneticDeclinationKind>

/// The kind of number of the characteristic Magnetic Declination, 0x2A2C.
public enum MagneticDeclinationKind: QuantityKind {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2a2c
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Magnetic Declination"
  /// The format of the number in the characteristic.
  public static let format = QuantityFormat(unsigned: 2, "°", steps: 100, 0...35999)
}
