public import Streams

/// A phone, as the central knows it: its D-Bus object path or address. Stable while the phone can be seen.
public struct PhoneID: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The radio's name for the phone.
  public var rawValue: String

  /// Makes an identifier.
  public init(_ rawValue: String) { self.rawValue = rawValue }

  /// The radio's name for the phone.
  public var description: String { rawValue }

  /// Orders by name, to break ties the same way each time.
  public static func < (left: PhoneID, right: PhoneID) -> Bool { left.rawValue < right.rawValue }
}

/// A phone that advertises the EdgeCoder service.
public struct PhoneSighting: Sendable, Hashable {
  /// The phone.
  public var id: PhoneID
  /// Its advertised name, often cut off; the address when it has none.
  public var name: String
  /// Signal in dBm; `nil` when the radio does not say (127 in HCI).
  public var rssi: Int?

  /// Makes a sighting.
  public init(id: PhoneID, name: String, rssi: Int? = nil) {
    self.id = id
    self.name = name
    self.rssi = rssi
  }
}

/// What a scan reports.
public enum ScanEvent: Sendable, Hashable {
  /// The adapter looks for phones.
  case started
  /// The adapter does not look for phones (any more); why, for a person. The scanner starts again by itself.
  case stopped(String)
  /// A phone was seen, or its signal changed.
  case seen(PhoneSighting)
  /// A phone has not been seen for so long that the stack has forgotten it.
  case lost(PhoneID)
}

/// Finds phones by their service UUID, never by name: advertised names are cut off.
public protocol PhoneScanner: Sendable {
  /// Scans as long as the stream is consumed. The stream is bounded, newest first to stay: an old sighting is worth
  /// nothing. It ends when the scanner is closed for good.
  func scan() -> BoundedStream<ScanEvent>
}

/// Connects to phones.
public protocol PhoneConnector: Sendable {
  /// Connects and finds the EdgeCoder service and its three characteristics.
  ///
  /// The caller bounds the time by cancelling; the connector then gives the attempt up at the stack and returns.
  /// - Throws: any error; its description is shown to a person.
  func connect(to phone: PhoneID) async throws -> any PhoneConnection
}

/// One connection to a phone. It is not used again once it has ended.
public protocol PhoneConnection: Sendable {
  /// What comes from the phone, in order, for one consumer; ends with the connection.
  ///
  /// The stream is bounded. When a notification does not fit, the stream must carry ``PhoneConnectionEvent/overflow``
  /// in its place: a reply with a hole is no reply.
  var events: BoundedStream<PhoneConnectionEvent> { get }
  /// The ATT MTU of the link; `nil` while unknown.
  var mtu: Int? { get async }
  /// Pairs with a phone that answers only who has paired; does nothing at one that answers everybody.
  ///
  /// The caller bounds the time by cancelling.
  /// - Throws: any error; its description tells a person what to do.
  func secure() async throws
  /// Subscribes to response or status and returns when the subscription is live.
  func subscribe(to characteristic: EdgeCoderCharacteristic) async throws
  /// Reads a characteristic's whole value.
  func read(_ characteristic: EdgeCoderCharacteristic) async throws -> [UInt8]
  /// Writes one piece of a request with a plain write request, and returns when the phone has confirmed it.
  /// - Parameter piece: at most min(508, MTU − 3) bytes.
  func write(_ piece: [UInt8]) async throws
  /// What the phone offers a v2 link over, the best first; nothing when requests go over the characteristics.
  /// - Throws: when it cannot be found out. The caller bounds the time by cancelling.
  func linkBearers() async throws -> [LinkBearer]
  /// Opens the phone's v2 link over a bearer that it offers.
  /// - Throws: when it cannot be opened. The caller bounds the time by cancelling.
  func openLink(over bearer: LinkBearer) async throws -> any LinkChannel
  /// Ends the connection and returns when it has ended, or when the stack has been told. Bounded.
  func disconnect() async
}

/// What comes over a connection.
public enum PhoneConnectionEvent: Sendable, Hashable {
  /// A notification of response or status.
  case notification(EdgeCoderCharacteristic, [UInt8])
  /// The signal, dBm.
  case rssi(Int)
  /// Notifications were lost because the reader was too slow.
  case overflow
  /// The connection ended; why, for a person. The stream ends after it.
  case disconnected(String)
}
