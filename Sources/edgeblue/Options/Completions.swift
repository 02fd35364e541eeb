import ArgumentParser

extension CompletionKind {
  /// The Bluetooth adapters of this machine, such as hci0. The kernel lists their connections beside them.
  static let adapters = CompletionKind.shellCommand("ls /sys/class/bluetooth 2>/dev/null | grep -v :")
  /// The addresses of the devices that bluetoothd knows.
  static let devices = CompletionKind.shellCommand("bluetoothctl devices 2>/dev/null | cut -d ' ' -f 2")
  /// The compute modes, as ``ModeCommand/mode(_:)`` reads them.
  static let modes = CompletionKind.list(["off", "on", "local"])

  /// The words that ``named(_:)`` reads.
  static func words<Value: CaseIterable & RawRepresentable>(_: Value.Type) -> CompletionKind
  where Value.RawValue == String {
    .list(Value.allCases.map(\.rawValue))
  }
}
