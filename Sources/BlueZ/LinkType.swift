/// The radio technology that carries a connection.
public enum LinkType: String, Sendable, Hashable {
  /// Bluetooth Low Energy, which this library is for.
  case le = "LE"
  /// Bluetooth Classic (BR/EDR), which carries GATT too.
  case classic = "BR/EDR"
}
