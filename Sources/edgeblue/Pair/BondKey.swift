import BlueZ

/// The keys of a bond, as bluetoothd has stored them; D-Bus does not report them, and only root may read the files.
struct BondKey: Sendable, Hashable {
  /// A Boolean value that indicates whether the keys are from LE Secure Connections. Those of legacy pairing can be
  /// computed by whoever has heard the pairing.
  let isSecure: Bool
  /// A Boolean value that indicates whether a passkey or a comparison protected the pairing.
  let isAuthenticated: Bool

  /// Reads the keys that an adapter shares with a device.
  /// - Parameter root: The root of the file system, which tests replace.
  /// - Returns: The weakest key; `nil` if there is none, or if it may not be read.
  static func read(_ device: BluetoothAddress, at adapter: BluetoothAddress, root: String = "") -> BondKey? {
    SystemFiles.text(of: "\(root)/var/lib/bluetooth/\(adapter)/\(device)/info").flatMap(BondKey.init(info:))
  }

  /// Reads the text of bluetoothd's file `info`; `nil` if it has no key for LE.
  init?(info text: String) {
    // The kernel's MGMT_LTK_…: legacy without and with authentication, P-256 without and with, and the debug key, which
    // everybody has. Before 5.63 the group of a peripheral has another name.
    let kinds = ["LongTermKey", "PeripheralLongTermKey", "SlaveLongTermKey"].compactMap { group in
      SystemFiles.value(of: "Authenticated", in: group, of: text).flatMap { Int($0) }
    }
    guard !kinds.isEmpty else { return nil }
    isSecure = kinds.allSatisfy { [2, 3].contains($0) }
    isAuthenticated = kinds.allSatisfy { [1, 3].contains($0) }
  }

  /// The value in JSON.
  var name: String { "\(isSecure ? "secure" : "legacy")\(isAuthenticated ? "-authenticated" : "")" }

  /// The warning about keys that an eavesdropper can have; `nil` for others.
  var warning: String? {
    isSecure
      ? nil
      : "paired by legacy pairing: whoever heard the pairing can read everything, and can use the address"
  }

  /// Warns of a bond that was just made by legacy pairing; does nothing where the keys may not be read.
  static func warn(of device: BluetoothAddress, at adapter: BluetoothAddress, _ terminal: Terminal) {
    guard let warning = read(device, at: adapter)?.warning else { return }
    terminal.happened(
      "\(device) \(warning); --access authenticated does not serve it", "legacyPairing",
      ["address": .string(device.description)], paint: .yellow)
  }
}
