public import Streams

/// The radio under the phone role: a GATT server with the EdgeCoder service, over BlueZ or in memory.
///
/// The transport advertises, owns the GATT application, and puts both back by itself when bluetoothd or the adapter
/// comes back; it reports that as ``PhoneEvent/transportDown(_:)`` and ``PhoneEvent/transportUp``. ``PhoneService``
/// does the rest.
public protocol PhoneTransport: Sendable {
  /// What happens on the radio, in order, for one consumer.
  ///
  /// The stream is bounded. A write that no longer fits must be answered with an ATT error and never be dropped in
  /// silence. The stream ends when the transport is closed for good.
  var events: BoundedStream<PhoneEvent> { get }

  /// Whether a notification can be sent to one peer.
  ///
  /// True from BlueZ 5.76. Below, one notify socket (below 5.69) or every socket (5.69–5.75) serves all subscribers:
  /// then replies are broadcast and each central picks its own by the id.
  var addressesSinglePeer: Bool { get }

  /// The v2 links that centrals open, for one consumer; `nil` when the transport offers none.
  var links: BoundedStream<any LinkChannel>? { get }

  /// Writes that were refused before they became an event: nobody read the events, or they belonged to no v2 link.
  var writesRefused: Int { get }

  /// Sends one notification and returns when the stack has taken it.
  /// - Parameters:
  ///   - characteristic: response or status.
  ///   - value: at most min(512, MTU − 3) bytes of the smallest subscriber; the caller sees to that.
  ///   - peer: whom to send to; `nil` sends to every subscriber. Never set unless ``addressesSinglePeer``.
  /// - Throws: ``PhoneTransportError`` when nobody is subscribed or the stack refuses. Bounded by the transport.
  func notify(_ characteristic: EdgeCoderCharacteristic, _ value: [UInt8], to peer: PeerID?) async throws

  /// Sets what a read of a characteristic returns, at most 512 bytes; the transport slices by offset itself.
  func setValue(_ value: [UInt8], of characteristic: EdgeCoderCharacteristic) async
}

extension PhoneTransport {
  /// None.
  public var links: BoundedStream<any LinkChannel>? { nil }

  /// None.
  public var writesRefused: Int { 0 }
}

/// A central, as the phone knows it: its D-Bus object path or address. Stable for one connection.
public struct PeerID: Sendable, Hashable, CustomStringConvertible {
  /// The transport's name for the peer.
  public var rawValue: String

  /// Makes an identifier.
  public init(_ rawValue: String) { self.rawValue = rawValue }

  /// The transport's name for the peer.
  public var description: String { rawValue }
}

/// What happens on the phone's radio.
public enum PhoneEvent: Sendable, Hashable {
  /// The service can be reached: registered and advertised.
  case transportUp
  /// The service cannot be reached, and every connection is gone; why, for a person.
  case transportDown(String)
  /// A central connected. It may come after the connection's first write, but must come after the end of the same
  /// central's former connection.
  case connected(PeerID)
  /// A central disconnected.
  case disconnected(PeerID)
  /// A central's ATT MTU became known or changed, also by reading a characteristic.
  case mtu(PeerID, Int)
  /// A write to the request characteristic.
  case write(PhoneWrite)
  /// A subscription to response or status. The peer is `nil` where BlueZ does not tell (one socket for all, below
  /// 5.69); `mtu` is the subscriber's, if known.
  case subscribed(PeerID?, EdgeCoderCharacteristic, mtu: Int?)
  /// A central that may not ask was refused an access, or its link was ended; why.
  case refused(PeerID, AccessRefusal)
  /// A subscription ended; with `nil` nobody is subscribed any more.
  case unsubscribed(PeerID?, EdgeCoderCharacteristic)
}

/// A write to the request characteristic.
public struct PhoneWrite: Sendable, Hashable {
  /// Who wrote.
  public var peer: PeerID
  /// What was written.
  public var bytes: [UInt8]
  /// Where the bytes lie in the value; 0 for a plain write, see ``WriteAssembler``.
  public var offset: Int
  /// The ATT MTU of the link, if known.
  public var mtu: Int?
  /// Whether the central waits for the write to be confirmed (the transport confirms).
  public var withResponse: Bool

  /// Makes a write.
  public init(peer: PeerID, bytes: [UInt8], offset: Int = 0, mtu: Int? = nil, withResponse: Bool = true) {
    self.peer = peer
    self.bytes = bytes
    self.offset = offset
    self.mtu = mtu
    self.withResponse = withResponse
  }
}
