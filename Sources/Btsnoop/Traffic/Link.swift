/// A connection in a recording.
public struct Link: Sendable, Hashable {
  /// The number of the connection in the recording, from 1.
  public var number: Int
  /// The number N of the adapter `hciN`.
  public var adapter: UInt16
  /// The number of the connection at the adapter.
  public var handle: UInt16
  /// The address of the peer; `nil` for a connection that is older than the recording.
  public var peer: DeviceAddress?
  /// A Boolean value that indicates whether this host is the central; `nil` for a connection that is older than the
  /// recording.
  public var isCentral: Bool?
}

/// A GATT server in a recording.
public enum AttributeServer: Sendable, Hashable {
  /// The server of this host, behind an adapter.
  case host(adapter: UInt16)
  /// The server of a device.
  case device(DeviceAddress)
  /// The server of a device whose address is not in the recording, by the number of the connection.
  case unknown(link: Int)
}

/// A channel with credits (L2CAP CoC) in a recording.
public struct TrafficChannel: Sendable, Hashable {
  /// The protocol/service multiplexer of the channel.
  public var psm: UInt16
  /// The channel on which this host receives.
  public var hostChannel: UInt16
  /// The channel on which the peer receives.
  public var peerChannel: UInt16
  /// The longest message (SDU) that this host receives, in bytes.
  public var hostMTU: UInt16
  /// The longest message (SDU) that the peer receives, in bytes.
  public var peerMTU: UInt16

  /// Creates a channel from its fields.
  public init(psm: UInt16, hostChannel: UInt16, peerChannel: UInt16, hostMTU: UInt16, peerMTU: UInt16) {
    self.psm = psm
    self.hostChannel = hostChannel
    self.peerChannel = peerChannel
    self.hostMTU = hostMTU
    self.peerMTU = peerMTU
  }

  /// The multiplexer of the enhanced Attribute Protocol (EATT).
  public static let enhancedAttributes: UInt16 = 0x0027
}
