/// The names of the numbers that the Bluetooth SIG has assigned, for display.
///
/// The source is the SIG's public document *Assigned Numbers* (bluetooth.com/specifications/assigned-numbers). The
/// tables contain all services, characteristics and descriptors of the SIG itself, and the frequent ones among the
/// thousands of members' services and company identifiers.
///
/// ```swift
/// print(AssignedNumbers.service("180d") ?? "unknown")  // Heart Rate
/// print(AssignedNumbers.company(0x004c) ?? "unknown")  // Apple
/// print(AssignedNumbers.appearance(961) ?? "unknown")  // Keyboard
/// ```
public enum AssignedNumbers {
  /// Returns the name of a service, such as `Heart Rate` for `180d`; `nil` when it is not in the table.
  public static func service(_ uuid: BluetoothUUID) -> String? { name(of: uuid, in: services) }

  /// Returns the name of a characteristic, such as `Heart Rate Measurement` for `2a37`; `nil` when it is not in the
  /// table.
  public static func characteristic(_ uuid: BluetoothUUID) -> String? {
    name(of: uuid, in: characteristics2A) ?? name(of: uuid, in: characteristics2B)
  }

  /// Returns the name of a descriptor, such as `Client Characteristic Configuration` for `2902`; `nil` when it is not
  /// in the table.
  public static func descriptor(_ uuid: BluetoothUUID) -> String? { name(of: uuid, in: descriptors) }

  /// Returns the name of a manufacturer by the company identifier in its manufacturer data; `nil` when it is not in the
  /// table.
  public static func company(_ identifier: UInt16) -> String? { companies[identifier] }

  /// Returns the name of an appearance, such as `Keyboard` for 961; the name of the category where the exact kind is
  /// not in the table.
  /// - Parameter value: The category in the upper ten bits, the kind in the lower six.
  public static func appearance(_ value: UInt16) -> String? { appearances[value] ?? appearances[value & ~0x3f] }

  private static func name(of uuid: BluetoothUUID, in table: [UInt16: String]) -> String? {
    uuid.short.flatMap(UInt16.init(exactly:)).flatMap { table[$0] }
  }

  /// Reads a table of this library: each line is a number of four hexadecimal digits, a blank, and the name. A
  /// malformed line, or a number that occurs twice, is a programming error and traps.
  static func table(_ text: String) -> [UInt16: String] {
    Dictionary(
      uniqueKeysWithValues: text.split(separator: "\n").map { line in
        guard line.count > 5, line.dropFirst(4).first == " ", let number = UInt16(line.prefix(4), radix: 16) else {
          preconditionFailure("'\(line)' is not a number and a name")
        }
        return (number, String(line.dropFirst(5)))
      })
  }
}
