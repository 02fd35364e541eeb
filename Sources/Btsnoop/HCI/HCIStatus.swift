/// The outcome of a command, or the reason why a connection ended (Core Specification 1.F).
public struct HCIStatus: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// The number of the status; 0 is success.
  public let rawValue: UInt8

  /// Creates a status from its number.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The command succeeded, or a connection has no error.
  public static let success = HCIStatus(rawValue: 0)
  /// The pairing or the encryption failed.
  public static let authenticationFailure = HCIStatus(rawValue: 0x05)
  /// One device has no key of the other.
  public static let keyMissing = HCIStatus(rawValue: 0x06)
  /// Nothing came from the peer for the supervision timeout.
  public static let supervisionTimeout = HCIStatus(rawValue: 0x08)
  /// The peer closed the connection.
  public static let closedByPeer = HCIStatus(rawValue: 0x13)
  /// This host closed the connection.
  public static let closedByHost = HCIStatus(rawValue: 0x16)
  /// The peer did not answer the first packets of the connection.
  public static let notEstablished = HCIStatus(rawValue: 0x3e)

  /// The status in words, for display.
  public var description: String {
    Self.names[rawValue] ?? "status 0x" + [rawValue].hexadecimal
  }

  private static let names: [UInt8: String] = [
    0x00: "success", 0x01: "unknown command", 0x02: "unknown connection", 0x03: "hardware failure",
    0x04: "page timeout", 0x05: "authentication failure", 0x06: "PIN or key missing", 0x07: "memory exceeded",
    0x08: "supervision timeout", 0x09: "connection limit exceeded", 0x0b: "connection already exists",
    0x0c: "command disallowed", 0x0d: "rejected for limited resources", 0x0e: "rejected for security reasons",
    0x0f: "rejected for the address", 0x10: "accept timeout", 0x11: "unsupported feature or parameter",
    0x12: "invalid parameters", 0x13: "closed by the peer", 0x14: "closed by the peer for low resources",
    0x15: "closed by the peer, which switches off", 0x16: "closed by this host", 0x17: "repeated attempts",
    0x18: "pairing not allowed", 0x1a: "unsupported feature of the peer", 0x1f: "unspecified error",
    0x20: "unsupported parameter value", 0x22: "no answer of the peer's link layer", 0x28: "instant passed",
    0x29: "pairing with unit key not supported", 0x2a: "different transaction collision",
    0x2f: "insufficient security", 0x30: "parameter out of range", 0x3a: "controller busy",
    0x3b: "unacceptable connection parameters", 0x3c: "advertising timeout", 0x3d: "integrity check failed",
    0x3e: "connection not established", 0x42: "unknown advertising set", 0x43: "limit reached",
    0x44: "cancelled by this host", 0x45: "packet too long",
  ]
}
