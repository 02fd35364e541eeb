/// Names of the numbers that the Bluetooth SIG has assigned, for people to read.
///
/// The source is the SIG's public document *Assigned Numbers* (bluetooth.com/specifications/assigned-numbers). The
/// tables hold the SIG's own services, characteristics and descriptors; of members' services and of company identifiers,
/// of which there are thousands, those one meets.
public enum AssignedNumbers {
  /// The name of a service, such as `Heart Rate` for `180d`.
  public static func service(_ uuid: BluetoothUUID) -> String? { name(of: uuid, in: services) }

  /// The name of a characteristic, such as `Heart Rate Measurement` for `2a37`.
  public static func characteristic(_ uuid: BluetoothUUID) -> String? {
    name(of: uuid, in: characteristics2A) ?? name(of: uuid, in: characteristics2B)
  }

  /// The name of a descriptor, such as `Client Characteristic Configuration` for `2902`.
  public static func descriptor(_ uuid: BluetoothUUID) -> String? { name(of: uuid, in: descriptors) }

  /// The name of who made a device, by the company identifier in its manufacturer data.
  public static func company(_ identifier: UInt16) -> String? { companies[identifier] }

  /// What a device looks like to a person, such as `Keyboard` for 961; where the exact kind is not known here, the
  /// category.
  /// - Parameter value: category in the upper ten bits, kind in the lower six.
  public static func appearance(_ value: UInt16) -> String? { appearances[value] ?? appearances[value & ~0x3f] }

  private static func name(of uuid: BluetoothUUID, in table: [UInt16: String]) -> String? {
    uuid.short.flatMap(UInt16.init(exactly:)).flatMap { table[$0] }
  }

  /// Reads a table of this program's own: each line is a number of four hexadecimal digits, a blank, and the name. A
  /// malformed line, or a number given twice, is a fault of the program and stops it.
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
