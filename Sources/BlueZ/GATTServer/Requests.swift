/// A request of a central to read a value.
///
/// ```swift
/// let name = LocalCharacteristic(
///   "2a00", [.read],
///   read: { request in
///     print(request.peer, "reads")
///     return Array("Lamp".utf8)
///   })
/// ```
public struct ReadRequest: Sendable, Hashable {
  /// The central that sent the request.
  public var peer: Peer
  /// The ATT MTU of the central's connection, in bytes.
  public var mtu: Int
  /// The radio technology of the central's connection.
  public var link: LinkType
  /// The position at which the central starts to read, in bytes. A handler ignores it and returns the whole value; it
  /// is 0 unless the central starts in the middle.
  public var offset: Int

  /// Creates a read request, for tests of a handler.
  public init(peer: Peer, mtu: Int, link: LinkType = .le, offset: Int = 0) {
    self.peer = peer
    self.mtu = mtu
    self.link = link
    self.offset = offset
  }
}

/// A value that a central wrote.
///
/// ```swift
/// let switchState = LocalCharacteristic(
///   "2ae2", [.write],
///   writes: .handler { request in
///     guard request.value.count == 1 else { throw AttributeRefusal.invalidLength }
///     print(request.peer, "switches", request.value[0] == 0 ? "off" : "on")
///   })
/// ```
public struct WriteRequest: Sendable, Hashable {
  /// The GATT procedure with which a value was written.
  public enum Kind: String, Sendable {
    /// A write without response; an error that the handler throws reaches no peer.
    case command
    /// A write with response, including a long write, whose value is whole.
    case request
    /// A reliable write, whose value is whole. BlueZ 5.66 reports such writes as requests.
    case reliable
  }

  /// The central that wrote the value.
  public var peer: Peer
  /// The ATT MTU of the central's connection, in bytes.
  public var mtu: Int
  /// The radio technology of the central's connection.
  public var link: LinkType
  /// The GATT procedure with which the value was written.
  public var kind: Kind
  /// The position of the first written byte; 0 unless the write starts in the middle.
  public var offset: Int
  /// The bytes that were written.
  public var value: [UInt8]

  /// Creates a write request, for tests of a handler.
  public init(peer: Peer, mtu: Int, link: LinkType = .le, kind: Kind, offset: Int = 0, value: [UInt8]) {
    self.peer = peer
    self.mtu = mtu
    self.link = link
    self.kind = kind
    self.offset = offset
    self.value = value
  }
}

/// A refusal that a read or write handler throws and that the central receives.
public enum AttributeRefusal: Error, Sendable, Hashable {
  /// The value cannot be read or written at present.
  case notPermitted
  /// The central is not authorized for the operation.
  case notAuthorized
  /// The length of the written value is invalid.
  case invalidLength
  /// The offset is beyond the end of the value.
  case invalidOffset
  /// The server does not support the operation.
  case notSupported
  /// An earlier request is still being processed.
  case inProgress
  /// The operation failed for another reason.
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
