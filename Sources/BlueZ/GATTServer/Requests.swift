/// A central wants to read a value.
public struct ReadRequest: Sendable, Hashable {
  /// Who asks.
  public var peer: Peer
  /// The ATT MTU of its link, in bytes.
  public var mtu: Int
  /// What carries its link.
  public var link: LinkType
  /// Where in the value it begins, in bytes. Of no concern to a handler, which gives the whole value: 0 but for a central
  /// that begins in the middle.
  public var offset: Int

  /// Makes a request.
  public init(peer: Peer, mtu: Int, link: LinkType = .le, offset: Int = 0) {
    self.peer = peer
    self.mtu = mtu
    self.link = link
    self.offset = offset
  }
}

/// A central wrote a value.
public struct WriteRequest: Sendable, Hashable {
  /// How it was written.
  public enum Kind: String, Sendable {
    /// Without response; an error thrown by the handler reaches nobody.
    case command
    /// With response; a long write too, whose value is whole.
    case request
    /// As a reliable write; the value is whole. BlueZ 5.66 calls these requests.
    case reliable
  }

  /// Who wrote.
  public var peer: Peer
  /// The ATT MTU of its link, in bytes.
  public var mtu: Int
  /// What carries its link.
  public var link: LinkType
  /// How it was written.
  public var kind: Kind
  /// Where in the value the bytes belong; 0 but for writes that begin in the middle.
  public var offset: Int
  /// The bytes.
  public var value: [UInt8]

  /// Makes a request.
  public init(peer: Peer, mtu: Int, link: LinkType = .le, kind: Kind, offset: Int = 0, value: [UInt8]) {
    self.peer = peer
    self.mtu = mtu
    self.link = link
    self.kind = kind
    self.offset = offset
    self.value = value
  }
}

/// A refusal for the central, thrown by a read or write handler.
public enum AttributeRefusal: Error, Sendable, Hashable {
  /// The value cannot be read, or not written, now.
  case notPermitted
  /// The central may not do this.
  case notAuthorized
  /// The written value has a length that cannot be.
  case invalidLength
  /// The offset is beyond the value's end.
  case invalidOffset
  /// This server does not do that.
  case notSupported
  /// An earlier request is still being worked on.
  case inProgress
  /// Anything else.
  case failed

  var bluezName: String {
    switch self {
    case .notPermitted: "org.bluez.Error.NotPermitted"
    case .notAuthorized: "org.bluez.Error.NotAuthorized"
    case .invalidLength: "org.bluez.Error.InvalidValueLength"
    case .invalidOffset: "org.bluez.Error.InvalidOffset"
    case .notSupported: "org.bluez.Error.NotSupported"
    case .inProgress: "org.bluez.Error.InProgress"
    case .failed: "org.bluez.Error.Failed"
    }
  }
}
