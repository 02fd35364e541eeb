/// The names of bluetoothd's D-Bus interfaces that several parts of the library use.
enum InterfaceName {
  static let adapter = "org.bluez.Adapter1"
  static let advertisingManager = "org.bluez.LEAdvertisingManager1"
  static let bearerClassic = "org.bluez.Bearer.BREDR1"
  static let bearerLE = "org.bluez.Bearer.LE1"
  static let characteristic = "org.bluez.GattCharacteristic1"
  static let descriptor = "org.bluez.GattDescriptor1"
  static let device = "org.bluez.Device1"
  static let gattManager = "org.bluez.GattManager1"
  static let properties = "org.freedesktop.DBus.Properties"
  static let service = "org.bluez.GattService1"
}
