/// A number of six digits that two people, or one person with two devices, compare or copy while pairing.
public struct Passkey: Sendable, Hashable, CustomStringConvertible {
  /// The number, 0 to 999 999.
  public let number: UInt32

  /// A passkey from its number.
  /// - Returns: `nil` above 999 999.
  public init?(_ number: UInt32) {
    guard number <= 999_999 else { return nil }
    self.number = number
  }

  /// A passkey as a person types it: six digits.
  /// - Returns: `nil` for anything else.
  public init?(_ text: String) {
    guard text.utf8.count == 6, text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains),
      let number = UInt32(text)
    else { return nil }
    self.number = number
  }

  /// All six digits, leading zeros too.
  public var description: String {
    let digits = String(number)
    return String(repeating: "0", count: 6 - digits.count) + digits
  }
}
