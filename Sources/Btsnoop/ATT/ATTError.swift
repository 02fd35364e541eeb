/// The reason why a server refused an ATT request (Core Specification 3.F.3.4.1.1).
public struct ATTError: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// The number of the reason; those from 0x80 to 0x9f belong to the service.
  public let rawValue: UInt8

  /// Creates a reason from its number.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The server has no attribute with the handle.
  public static let invalidHandle = ATTError(rawValue: 0x01)
  /// The attribute cannot be read.
  public static let readNotPermitted = ATTError(rawValue: 0x02)
  /// The attribute cannot be written.
  public static let writeNotPermitted = ATTError(rawValue: 0x03)
  /// The server does not support the request.
  public static let requestNotSupported = ATTError(rawValue: 0x06)
  /// There is no such attribute in the range: the end of a discovery, and no failure.
  public static let attributeNotFound = ATTError(rawValue: 0x0a)

  /// The reason in words, for display.
  public var description: String {
    if let name = Self.names[rawValue] { return name }
    return (0x80...0x9f ~= rawValue ? "application error 0x" : "error 0x") + [rawValue].hexadecimal
  }

  private static let names: [UInt8: String] = [
    0x01: "invalid handle", 0x02: "read not permitted", 0x03: "write not permitted", 0x04: "invalid PDU",
    0x05: "insufficient authentication", 0x06: "request not supported", 0x07: "invalid offset",
    0x08: "insufficient authorization", 0x09: "prepare queue full", 0x0a: "attribute not found",
    0x0b: "attribute not long", 0x0c: "encryption key too short", 0x0d: "invalid attribute value length",
    0x0e: "unlikely error", 0x0f: "insufficient encryption", 0x10: "unsupported group type",
    0x11: "insufficient resources", 0x12: "database out of sync", 0x13: "value not allowed",
    0xfc: "write request rejected", 0xfd: "client configuration improperly configured",
    0xfe: "procedure already in progress", 0xff: "out of range",
  ]
}
