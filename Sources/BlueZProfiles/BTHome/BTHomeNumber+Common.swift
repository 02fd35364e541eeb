extension BTHomeNumber {
  /// The charge of the battery in percent.
  public static let battery = named(0x01)
  /// The temperature in degrees Celsius, in steps of 0.01.
  public static let temperature = named(0x02)
  /// The relative humidity in percent, in steps of 0.01.
  public static let humidity = named(0x03)
  /// The air pressure in hectopascals, in steps of 0.01.
  public static let pressure = named(0x04)
  /// The brightness in lux, in steps of 0.01.
  public static let illuminance = named(0x05)
  /// The dew point in degrees Celsius, in steps of 0.01.
  public static let dewPoint = named(0x08)
  /// The count of anything, of four bytes.
  public static let count = named(0x3e)
  /// The energy in kilowatt-hours, in steps of 0.001.
  public static let energy = named(0x4d)
  /// The power in watts, in steps of 0.01.
  public static let power = named(0x5c)
  /// The voltage in volts, in steps of 0.001.
  public static let voltage = named(0x0c)
  /// The current in amperes, in steps of 0.001.
  public static let current = named(0x5d)
  /// The concentration of carbon dioxide in parts per million.
  public static let carbonDioxide = named(0x12)
  /// The moisture of soil in percent, in steps of 0.01.
  public static let moisture = named(0x14)
  /// The distance to anything in millimeters.
  public static let distance = named(0x40)
  /// The time in seconds since 1970, UTC.
  public static let timestamp = named(0x50)
  /// The volume of water in liters, in steps of 0.001.
  public static let water = named(0x4f)

  private static func named(_ id: UInt8) -> BTHomeNumber {
    guard let number = BTHomeNumber(id: id) else { preconditionFailure("no number has the object ID \(id)") }
    return number
  }
}
