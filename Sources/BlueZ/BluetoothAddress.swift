/// A Bluetooth device address, such as `00:AA:01:00:00:42`.
public struct BluetoothAddress: Sendable, Hashable, CustomStringConvertible {
  /// The address in upper case with colons, as BlueZ writes it.
  public let description: String

  /// Reads six hexadecimal pairs with colons, in any case.
  /// - Returns: `nil` for anything else.
  public init?(_ text: String) {
    let pairs = text.uppercased().split(separator: ":", omittingEmptySubsequences: false)
    guard pairs.count == 6, pairs.allSatisfy({ $0.utf8.count == 2 && UInt8($0, radix: 16) != nil && $0.first != "+" })
    else { return nil }
    description = pairs.joined(separator: ":")
  }
}

/// Of which kind an LE device address is (Core Specification 6.B.1.3); named as BlueZ names it.
public enum AddressType: String, Sendable, Hashable {
  /// Assigned by the IEEE.
  case `public`
  /// Made up by the device: fixed until it restarts, or changing for privacy.
  case random
}
