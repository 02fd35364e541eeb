/// A packet of the Security Manager (Core Specification 3.H.3).
public enum SMPPacket: Sendable, Hashable {
  /// The wishes of one side of a pairing.
  public struct Features: Sendable, Hashable {
    /// The abilities to show and to enter something: 0 to 4 are display only, display with yes and no, keyboard only,
    /// none, and keyboard with display.
    public var capability: UInt8
    /// A Boolean value that indicates whether the side has data from another way than Bluetooth.
    public var hasOutOfBandData: Bool
    /// The requirements: bits 0 and 1 bonding, bit 2 authentication (MITM), bit 3 Secure Connections, bit 4 keypresses.
    public var requirements: UInt8
    /// The longest key in bytes, 7 to 16.
    public var keySize: UInt8
    /// The keys that the initiator distributes.
    public var initiatorKeys: UInt8
    /// The keys that the responder distributes.
    public var responderKeys: UInt8

    /// A Boolean value that indicates whether keys are kept for later connections.
    public var wantsBonding: Bool { requirements & 3 == 1 }
    /// A Boolean value that indicates whether pairing must be authenticated.
    public var wantsAuthentication: Bool { requirements & 4 != 0 }
    /// A Boolean value that indicates whether the side supports Secure Connections.
    public var supportsSecureConnections: Bool { requirements & 8 != 0 }
  }

  /// The central begins to pair.
  case pairingRequest(Features)
  /// The peripheral agrees to pair.
  case pairingResponse(Features)
  /// A commitment to a random number, 16 bytes.
  case confirm([UInt8])
  /// A random number, 16 bytes.
  case random([UInt8])
  /// The pairing failed for a reason.
  case failed(reason: UInt8)
  /// A long-term key of legacy pairing, 16 bytes.
  case encryptionInformation([UInt8])
  /// The names of that key: a number and 8 random bytes.
  case centralIdentification(ediv: UInt16, random: [UInt8])
  /// The key that resolves the private addresses of the sender, 16 bytes.
  case identityInformation([UInt8])
  /// The address that does not change.
  case identityAddress(DeviceAddress)
  /// The key that signs data of the sender, 16 bytes.
  case signingInformation([UInt8])
  /// The peripheral asks for encryption, by the requirements of ``Features/requirements``.
  case securityRequest(requirements: UInt8)
  /// A public key, 64 bytes.
  case publicKey([UInt8])
  /// The proof that both sides have the same key, 16 bytes.
  case keyCheck([UInt8])
  /// The user pressed a key while entering a passkey.
  case keypress(UInt8)
  /// Another packet, with its code.
  case other(code: UInt8, bytes: [UInt8])

  /// Decodes a packet of the channel ``L2CAPFrame/security``.
  /// - Returns: `nil` for a packet that is shorter than its code requires.
  public init?(_ payload: ArraySlice<UInt8>) {
    var fields = ByteReader(payload)
    guard let code = fields.byte() else { return nil }
    switch code {
    case 0x01, 0x02:
      guard let features = Features(&fields) else { return nil }
      self = code == 0x01 ? .pairingRequest(features) : .pairingResponse(features)
    case 0x03, 0x04, 0x06, 0x08, 0x0a, 0x0d:
      guard let content = fields.bytes(16) else { return nil }
      self = Self.key(code, Array(content))
    case 0x05:
      guard let reason = fields.byte() else { return nil }
      self = .failed(reason: reason)
    case 0x07:
      guard let ediv = fields.uint16(), let random = fields.bytes(8) else { return nil }
      self = .centralIdentification(ediv: ediv, random: Array(random))
    case 0x09:
      guard let address = DeviceAddress(&fields, kind: fields.byte()) else { return nil }
      self = .identityAddress(address)
    case 0x0b:
      guard let requirements = fields.byte() else { return nil }
      self = .securityRequest(requirements: requirements)
    case 0x0c:
      guard let key = fields.bytes(64) else { return nil }
      self = .publicKey(Array(key))
    case 0x0e:
      guard let key = fields.byte() else { return nil }
      self = .keypress(key)
    default: self = .other(code: code, bytes: fields.all())
    }
  }

  private static func key(_ code: UInt8, _ content: [UInt8]) -> SMPPacket {
    switch code {
    case 0x03: .confirm(content)
    case 0x04: .random(content)
    case 0x06: .encryptionInformation(content)
    case 0x08: .identityInformation(content)
    case 0x0a: .signingInformation(content)
    default: .keyCheck(content)
    }
  }

  /// Returns the reason of a failed pairing in words, for display.
  public static func reason(_ number: UInt8) -> String {
    let names = [
      "passkey entry failed", "no out-of-band data", "authentication requirements", "confirm value failed",
      "pairing not supported", "key too short", "command not supported", "unspecified reason", "repeated attempts",
      "invalid parameters", "key check failed", "numeric comparison failed", "Classic pairing in progress",
      "cross-transport key not allowed", "key rejected", "busy",
    ]
    return number > 0 && Int(number) <= names.count ? names[Int(number) - 1] : "reason 0x" + [number].hexadecimal
  }
}

extension SMPPacket.Features {
  fileprivate init?(_ fields: inout ByteReader) {
    guard let bytes = fields.bytes(6) else { return nil }
    let values = Array(bytes)
    capability = values[0]
    hasOutOfBandData = values[1] == 1
    requirements = values[2]
    keySize = values[3]
    initiatorKeys = values[4]
    responderKeys = values[5]
  }
}
