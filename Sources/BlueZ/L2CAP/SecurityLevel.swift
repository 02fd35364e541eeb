/// What an L2CAP channel demands of the link it runs over. The kernel starts pairing when the link has less.
public enum SecurityLevel: UInt8, Sendable, Hashable, Comparable, CaseIterable {
  // The numbers are `BT_SECURITY_…` (include/net/bluetooth/bluetooth.h).

  /// No encryption.
  case low = 1
  /// Encryption, with a key that anyone may have agreed on ("just works").
  case medium = 2
  /// Encryption, with a key that a person has confirmed (protection against a man in the middle).
  case high = 3
  /// The same with LE Secure Connections and a 128-bit key.
  case fips = 4

  /// A level is less than one that demands more.
  public static func < (a: SecurityLevel, b: SecurityLevel) -> Bool { a.rawValue < b.rawValue }
}
