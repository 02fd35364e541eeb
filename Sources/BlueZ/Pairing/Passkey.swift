/// A number of six digits that users compare or enter while pairing.
///
/// ```swift
/// guard let passkey = Passkey("004217") else { fatalError("not six digits") }
/// print(passkey.number, passkey)  // 4217 004217
/// ```
public struct Passkey: Sendable, Hashable, CustomStringConvertible {
  /// The number, 0 to 999 999.
  public let number: UInt32

  /// Creates a passkey from its number.
  /// - Returns: `nil` above 999 999.
  public init?(_ number: UInt32) {
    guard number <= 999_999 else { return nil }
    self.number = number
  }

  /// Creates a passkey from the six digits that a user enters.
  /// - Returns: `nil` for any other text.
  public init?(_ text: String) {
    guard text.utf8.count == 6, text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains),
      let number = UInt32(text)
    else { return nil }
    self.number = number
  }

  /// All six digits, including leading zeros.
  public var description: String {
    let digits = String(number)
    return String(repeating: "0", count: 6 - digits.count) + digits
  }
}
