/// The security that an L2CAP channel requires of its connection. The kernel starts pairing when the connection has
/// less.
public enum SecurityLevel: UInt8, Sendable, Hashable, Comparable, CaseIterable {
  // The numbers are `BT_SECURITY_…` (include/net/bluetooth/bluetooth.h).

  /// No encryption of the connection is required.
  case low = 1
  /// Encryption with any key, including an unauthenticated one (Just Works).
  case medium = 2
  /// Encryption with an authenticated key, which protects against a man in the middle.
  case high = 3
  /// Encryption with an authenticated 128-bit key from LE Secure Connections.
  case fips = 4

  /// Returns `true` if the first level requires less than the second.
  public static func < (a: SecurityLevel, b: SecurityLevel) -> Bool { a.rawValue < b.rawValue }
}
