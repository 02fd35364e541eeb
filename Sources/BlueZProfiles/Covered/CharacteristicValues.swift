/// The values that this library reads, by the UUID of their characteristic.
///
/// ```swift
/// if let value = try CharacteristicValues.read([0x64], of: 0x2a19) { print(value) }  // 100 %
/// ```
public enum CharacteristicValues {
  /// The types of all values, in the order of their UUIDs.
  public static let all: [any CharacteristicValue.Type] =
    (access + deviceInformation + time + heartRate + health + fitness + environment + electricity)
    .sorted { $0.assignedNumber < $1.assignedNumber }

  private static let byNumber = Dictionary(uniqueKeysWithValues: all.map { ($0.assignedNumber, $0) })

  /// Returns the type for the values of a characteristic; `nil` when this library has none.
  public static func type(of assignedNumber: UInt16) -> (any CharacteristicValue.Type)? { byNumber[assignedNumber] }

  /// Returns the value of a characteristic; `nil` when this library has no type for it.
  /// - Throws: ``ProfileError`` when the bytes are malformed.
  public static func read(_ bytes: [UInt8], of assignedNumber: UInt16) throws(ProfileError)
    -> (any CharacteristicValue)?
  {
    guard let type = type(of: assignedNumber) else { return nil }
    return try type.init(bytes: bytes)
  }

  private static let access: [any CharacteristicValue.Type] = [
    DeviceName.self, PreferredConnectionParameters.self, AlertLevel.self, TransmitPower.self, BatteryLevel.self,
  ]
  private static let deviceInformation: [any CharacteristicValue.Type] = [
    SystemID.self, ModelNumber.self, SerialNumber.self, FirmwareRevision.self, HardwareRevision.self,
    SoftwareRevision.self, ManufacturerName.self, PnPID.self,
  ]
  private static let time: [any CharacteristicValue.Type] = [
    DateTime.self, CurrentTime.self, LocalTimeInformation.self, ReferenceTimeInformation.self,
  ]
  private static let heartRate: [any CharacteristicValue.Type] = [
    HeartRateMeasurement.self, BodySensorLocation.self, HeartRateControlPoint.self,
  ]
  private static let health: [any CharacteristicValue.Type] = [
    TemperatureMeasurement.self, TemperatureType.self, MeasurementInterval.self, BloodPressureMeasurement.self,
  ]
  private static let fitness: [any CharacteristicValue.Type] = [
    CyclingMeasurement.self, CyclingFeatures.self, RunningMeasurement.self, RunningFeatures.self, SensorLocation.self,
  ]
  private static let environment: [any CharacteristicValue.Type] = [
    Temperature.self, Humidity.self, Pressure.self, Elevation.self, DewPoint.self, HeatIndex.self, WindChill.self,
    UVIndex.self, Irradiance.self, TrueWindSpeed.self, TrueWindDirection.self, ApparentWindSpeed.self,
    ApparentWindDirection.self, GustFactor.self, PollenConcentration.self, Rainfall.self, MagneticDeclination.self,
    PressureTrend.self, Illuminance.self, CarbonDioxide.self,
  ]
  private static let electricity: [any CharacteristicValue.Type] = [
    Voltage.self, ElectricCurrent.self, ElectricPower.self,
  ]
}
