/// A Bluetooth device address, such as `00:AA:01:00:00:42`.
///
/// ```swift
/// guard let address = BluetoothAddress("00:aa:01:00:00:42") else { fatalError("not an address") }
/// print(address)  // 00:AA:01:00:00:42
/// ```
public struct BluetoothAddress: Sendable, Hashable, LosslessStringConvertible {
  /// The address in upper case with colons, as BlueZ writes it.
  public let description: String

  /// Creates an address from six hexadecimal pairs with colons, in any case.
  /// - Returns: `nil` for any other text.
  public init?(_ text: String) {
    let pairs = text.uppercased().split(separator: ":", omittingEmptySubsequences: false)
    guard pairs.count == 6, pairs.allSatisfy({ $0.utf8.count == 2 && UInt8($0, radix: 16) != nil && $0.first != "+" })
    else { return nil }
    description = pairs.joined(separator: ":")
  }
}

/// The kind of an LE device address (Core Specification 6.B.1.3), named as BlueZ names it.
public enum AddressType: String, Sendable, Hashable, Codable {
  /// A public address, assigned by the IEEE.
  case `public`
  /// A random address, made by the device: fixed until it restarts, or changing for privacy.
  case random
}

extension BluetoothAddress {
  /// The six bytes in the order of the air and the kernel: the last pair of the text first.
  ///
  /// ```swift
  /// print(BluetoothAddress("00:AA:01:00:00:42")?.littleEndian ?? [])  // [66, 0, 0, 1, 170, 0]
  /// ```
  public var littleEndian: [UInt8] {
    description.split(separator: ":").reversed().compactMap { UInt8($0, radix: 16) }
  }

  /// Creates an address from its bytes in the order of the air and the kernel.
  /// - Returns: `nil` unless there are six bytes.
  public init?(littleEndian bytes: some Collection<UInt8>) {
    guard bytes.count == 6 else { return nil }
    description = bytes.reversed().map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
      .joined(separator: ":")
  }
}

extension BluetoothAddress: Codable {
  /// Creates an address from a text with six hexadecimal pairs.
  /// - Throws: `DecodingError` for any other text.
  public init(from decoder: any Decoder) throws {
    self = try decoder.text(of: "a Bluetooth address")
  }

  /// Encodes the address as a text in upper case with colons.
  public func encode(to encoder: any Encoder) throws { try description.encode(to: encoder) }
}
