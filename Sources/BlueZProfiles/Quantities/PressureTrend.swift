/// The trend of the air pressure during the last hours.
public enum PressureTrend: UInt8, CharacteristicValue, CaseIterable {
  /// The 16-bit UUID of the characteristic.
  public static let assignedNumber: UInt16 = 0x2aa3
  /// The name of the characteristic, as the Bluetooth SIG assigned it.
  public static let name = "Barometric Pressure Trend"

  /// A trend that the sensor does not know.
  case unknown = 0
  /// The trends in one direction, and those that came to rest.
  case falling, rising, fallingThenSteady, risingThenSteady
  /// The trends that changed their direction.
  case fallingBeforeLesserRise, fallingBeforeGreaterRise, risingBeforeGreaterFall, risingBeforeLesserFall
  /// A pressure without a trend.
  case steady
}
