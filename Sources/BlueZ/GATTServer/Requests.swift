/// A central wants to read a value.
public struct ReadRequest: Sendable, Hashable {
  /// Who asks.
  public var peer: Peer
  /// The ATT MTU of its link, in bytes.
  public var mtu: Int
}

/// A central wrote a value.
public struct WriteRequest: Sendable, Hashable {
  /// How it was written.
  public enum Kind: String, Sendable {
    /// Without response; an error thrown by the handler reaches nobody.
    case command
    /// With response.
    case request
    /// As part of a long or reliable write; the value is whole.
    case reliable
  }

  /// Who wrote.
  public var peer: Peer
  /// The ATT MTU of its link, in bytes.
  public var mtu: Int
  /// How it was written.
  public var kind: Kind
  /// Where in the value the bytes belong; 0 but for writes that begin in the middle.
  public var offset: Int
  /// The bytes.
  public var value: [UInt8]
}

/// A refusal for the central, thrown by a read or write handler.
public enum AttributeRefusal: Error, Sendable, Hashable {
  /// The value cannot be read, or not written, now.
  case notPermitted
  /// The link must be paired first.
  case notAuthorized
  /// The written value has a length that cannot be.
  case invalidLength
  /// The offset is beyond the value's end.
  case invalidOffset
  /// This server does not do that.
  case notSupported
  /// Anything else.
  case failed

  var bluezName: String {
    switch self {
    case .notPermitted: "org.bluez.Error.NotPermitted"
    case .notAuthorized: "org.bluez.Error.NotAuthorized"
    case .invalidLength: "org.bluez.Error.InvalidValueLength"
    case .invalidOffset: "org.bluez.Error.InvalidOffset"
    case .notSupported: "org.bluez.Error.NotSupported"
    case .failed: "org.bluez.Error.Failed"
    }
  }
}
