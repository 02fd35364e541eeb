/// A Bluetooth UUID of 16, 32 or 128 bits, always stored in its 128-bit form.
///
/// UUIDs are equal whichever form they were written in, and can be written as string literals:
///
/// ```swift
/// let battery: BluetoothUUID = "180f"
/// print(battery)  // 0000180f-0000-1000-8000-00805f9b34fb
/// print(AssignedNumbers.service(battery) ?? "unknown")  // Battery
/// ```
public struct BluetoothUUID: Sendable, Hashable, LosslessStringConvertible, ExpressibleByStringLiteral {
  /// The upper and the lower 64 bits.
  let high: UInt64
  let low: UInt64

  /// The Bluetooth Base UUID, `00000000-0000-1000-8000-00805f9b34fb` (Core Specification 3.B.2.5.1).
  private static let base: (high: UInt64, low: UInt64) = (0x0000_0000_0000_1000, 0x8000_0080_5f9b_34fb)

  /// Creates a UUID from `180f`, `0x180f`, an 8-digit form or the 36-character form, in any case.
  /// - Returns: `nil` for any other text.
  public init?(_ text: String) {
    var digits = text.utf8[...]
    if text.hasPrefix("0x") || text.hasPrefix("0X") { digits = digits.dropFirst(2) }
    switch digits.count {
    case 4, 8:
      guard let short = Self.hex(digits) else { return nil }
      self.init(short: UInt32(short))
    case 36:
      let bytes = Array(digits)
      let hyphens = [8, 13, 18, 23]
      guard hyphens.allSatisfy({ bytes[$0] == UInt8(ascii: "-") }) else { return nil }
      let plain = bytes.filter { $0 != UInt8(ascii: "-") }
      guard plain.count == 32, let high = Self.hex(plain[..<16]), let low = Self.hex(plain[16...]) else { return nil }
      self.init(high: high, low: low)
    default:
      return nil
    }
  }

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Creates a UUID from a 16-bit or 32-bit assigned number.
  public init(short: UInt32) {
    self.init(high: UInt64(short) << 32 | Self.base.high, low: Self.base.low)
  }

  /// Creates a UUID from a literal in the source. A malformed literal is a programming error and traps.
  public init(stringLiteral text: String) {
    guard let uuid = BluetoothUUID(text) else { preconditionFailure("'\(text)' is not a Bluetooth UUID") }
    self = uuid
  }

  /// The 36-character form in lower case, as BlueZ writes it.
  public var description: String {
    let hex = Self.text(high) + Self.text(low)
    var parts: [Substring] = []
    var rest = hex[...]
    for length in [8, 4, 4, 4, 12] {
      parts.append(rest.prefix(length))
      rest = rest.dropFirst(length)
    }
    return parts.joined(separator: "-")
  }

  /// The assigned number of 16 or 32 bits; `nil` for any other UUID.
  public var short: UInt32? {
    low == Self.base.low && high & 0xffff_ffff == Self.base.high ? UInt32(high >> 32) : nil
  }

  /// The number of bytes that the UUID occupies in an advertisement: 2, 4 or 16.
  public var advertisedSize: Int {
    guard let short else { return 16 }
    return short <= 0xffff ? 2 : 4
  }

  private static func hex(_ digits: some Sequence<UInt8>) -> UInt64? {
    var value: UInt64 = 0
    for digit in digits {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(digit - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt64(digit - UInt8(ascii: "A") + 10)
      default: return nil
      }
    }
    return value
  }

  private static func text(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
