public import Streams

/// The radio of the phone role: a GATT server with the EdgeCoder service, over BlueZ or in memory.
///
/// The transport advertises and owns the GATT application. It registers both again after a restart of bluetoothd or a
/// power cycle of the adapter, which it reports as ``PhoneTransportEvent/transportDown(_:)`` and
/// ``PhoneTransportEvent/transportUp``. ``PhoneService`` does the rest.
public protocol PhoneTransport: Sendable {
  /// The events of the radio in order, for one consumer.
  ///
  /// The stream is bounded. A write that does not fit must be answered with an ATT error and never be dropped silently.
  /// The stream ends when the transport is closed.
  var events: BoundedStream<PhoneTransportEvent> { get }

  /// A Boolean value that indicates whether a notification can be sent to a single peer.
  ///
  /// True from BlueZ 5.76. Before, one notify socket (before 5.69) or all of them (5.69 to 5.75) serve all subscribers:
  /// replies are broadcast, and each central finds its own by the identifier.
  var addressesSinglePeer: Bool { get }

  /// The channels of the v2 muxes that centrals open, for one consumer; `nil` if the transport offers no mux.
  var muxChannels: BoundedStream<any MuxChannel>? { get }

  /// The number of writes refused without an event, because the event stream was full.
  var writesRefused: Int { get }

  /// Sends one notification and returns when the stack has accepted it, within a bounded time.
  /// - Parameters:
  ///   - characteristic: The characteristic `response` or `status`.
  ///   - value: At most min(512, MTU − 3) bytes for the smallest subscriber, which the caller ensures.
  ///   - peer: The receiver; `nil` for every subscriber. Always `nil` without ``addressesSinglePeer``.
  /// - Throws: ``PhoneTransportError`` when the peer is not subscribed or the stack fails.
  func notify(_ characteristic: EdgeCoderCharacteristic, _ value: [UInt8], to peer: PeerID?) async throws

  /// Sets the value that a read of a characteristic returns, at most 512 bytes.
  ///
  /// The transport handles the offsets of long reads, and forgets the values of a central that disconnects.
  /// - Parameters:
  ///   - value: The value; an empty one removes what was set before.
  ///   - characteristic: The characteristic `response` or `status`.
  ///   - peer: The central that reads the value; `nil` for all centrals without a value of their own.
  func setValue(_ value: [UInt8], of characteristic: EdgeCoderCharacteristic, for peer: PeerID?) async
}

extension PhoneTransport {
  /// The channels of v2 muxes: none by default.
  public var muxChannels: BoundedStream<any MuxChannel>? { nil }

  /// The number of writes refused without an event: 0 by default.
  public var writesRefused: Int { 0 }
}

/// An event of the radio of a phone.
public enum PhoneTransportEvent: Sendable, Hashable {
  /// The service is registered and advertised.
  case transportUp
  /// The service is unreachable and all connections are lost, with the reason for display.
  case transportDown(String)
  /// A central connected to the phone.
  ///
  /// The event may follow the first write of the connection, and must follow the end of the previous connection of the
  /// same central.
  case connected(PeerID)
  /// A central disconnected, or its connection was lost.
  case disconnected(PeerID)
  /// The ATT MTU of a central became known or changed, also when it read a characteristic.
  case mtu(PeerID, Int)
  /// A central wrote to the request characteristic.
  case write(PhoneWrite)
  /// A central subscribed to `response` or `status`.
  ///
  /// The peer is `nil` where BlueZ does not report it (before 5.69, one socket for all). `mtu` is the ATT MTU of the
  /// subscriber, if known.
  case subscribed(PeerID?, EdgeCoderCharacteristic, mtu: Int?)
  /// A central unsubscribed; with `nil` no central is subscribed any more.
  case unsubscribed(PeerID?, EdgeCoderCharacteristic)
  /// A central without permission was refused an access, or was disconnected, with the reason.
  case accessRefused(PeerID, AccessRefusal)
  /// A write of a central was refused, because it belonged to no v2 mux.
  case writeRefused(PeerID)
}

/// A write of a central to the request characteristic.
public struct PhoneWrite: Sendable, Hashable {
  /// The central that wrote the bytes.
  public var peer: PeerID
  /// The bytes that the central wrote.
  public var bytes: [UInt8]
  /// The position of the bytes in the value; 0 unless the write is prepared, see ``WriteAssembler``.
  public var offset: Int
  /// The ATT MTU of the connection, if known.
  public var mtu: Int?
  /// A Boolean value that indicates whether the central waits for the confirmation, which the transport sends.
  public var withResponse: Bool

  /// Creates a write from its fields.
  public init(peer: PeerID, bytes: [UInt8], offset: Int = 0, mtu: Int? = nil, withResponse: Bool = true) {
    self.peer = peer
    self.bytes = bytes
    self.offset = offset
    self.mtu = mtu
    self.withResponse = withResponse
  }
}
