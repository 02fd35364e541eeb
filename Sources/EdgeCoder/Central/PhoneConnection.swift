public import Streams

/// The identifier of a phone, for example its D-Bus object path.
///
/// An identifier is stable while the phone is in range.
public struct PhoneID: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The name that the radio uses for the phone.
  public var rawValue: String

  /// Creates an identifier from the name that the radio uses.
  public init(_ rawValue: String) { self.rawValue = rawValue }

  /// The name that the radio uses for the phone.
  public var description: String { rawValue }

  /// Returns `true` if the left name is ordered before the right one.
  public static func < (left: PhoneID, right: PhoneID) -> Bool { left.rawValue < right.rawValue }
}

/// A scan result: a phone that advertises the EdgeCoder service.
public struct PhoneScanResult: Sendable, Hashable {
  /// The identifier of the phone.
  public var id: PhoneID
  /// The advertised name, often truncated; the address if there is none.
  public var name: String
  /// The signal strength in dBm; `nil` when unknown (127 in HCI).
  public var rssi: Int?
  /// The reason why the central does not use the phone; `nil` if it may connect to it.
  public var refusal: PhoneConnectionFailure?
  /// A Boolean value that indicates whether the phone may advertise under another address and identifier next time,
  /// because its address is private and no bond resolves it.
  public var mayChangeAddress: Bool

  /// Creates a scan result from its fields.
  public init(
    id: PhoneID, name: String, rssi: Int? = nil, refusal: PhoneConnectionFailure? = nil, mayChangeAddress: Bool = false
  ) {
    self.id = id
    self.name = name
    self.rssi = rssi
    self.refusal = refusal
    self.mayChangeAddress = mayChangeAddress
  }
}

/// An event of the scan for phones.
public enum ScanEvent: Sendable, Hashable {
  /// The adapter is scanning for phones.
  case started
  /// The adapter is not scanning, with the reason for display; the scanner starts again by itself.
  case stopped(String)
  /// A phone was found, or its signal strength changed.
  case found(PhoneScanResult)
  /// A phone was removed by the stack, because it has not advertised for some time.
  case lost(PhoneID)
}

/// A scanner that finds phones by their service UUID; advertised names may be truncated.
public protocol PhoneScanner: Sendable {
  /// Starts a scan that lasts as long as the stream is consumed.
  ///
  /// The stream is bounded and drops the oldest results. It ends when the scanner is closed.
  func scan() -> BoundedStream<ScanEvent>
}

/// A connector that establishes connections to phones.
public protocol PhoneConnector: Sendable {
  /// Connects to a phone and discovers the EdgeCoder service with its three characteristics.
  ///
  /// The caller applies a timeout by cancelling the task; the connector then cancels the attempt and returns.
  /// - Throws: ``PhoneConnectionFailure``, or another error whose description is for display.
  func connect(to phone: PhoneID) async throws -> any PhoneConnection

  /// Returns `true` if a link to the phone is established, also while ``connect(to:)`` still discovers its services.
  ///
  /// An attempt without a link ends after ``CentralConfiguration/Timeouts/turn``.
  func isLinked(to phone: PhoneID) async -> Bool
}

/// One connection to a phone, which is not used again after its end.
public protocol PhoneConnection: Sendable {
  /// The events of the connection in order, for one consumer; the stream ends with the connection.
  ///
  /// The stream is bounded. In place of a notification that does not fit, it must contain
  /// ``PhoneConnectionEvent/overflow``, because a reply with a gap is useless.
  var events: BoundedStream<PhoneConnectionEvent> { get }
  /// The ATT MTU of the connection; `nil` while unknown.
  var mtu: Int? { get async }
  /// Checks that the connection is as secure as the central and the phone require, before anything is sent.
  ///
  /// It never pairs: a user does that. The caller applies a timeout by cancelling the task.
  /// - Throws: ``PhoneConnectionFailure``, or another error whose description is for display.
  func secure() async throws
  /// Subscribes to `response` or `status` and returns when the phone has confirmed it.
  func subscribe(to characteristic: EdgeCoderCharacteristic) async throws
  /// Reads the whole value of a characteristic.
  func read(_ characteristic: EdgeCoderCharacteristic) async throws -> [UInt8]
  /// Writes one chunk of a request with a write request, and returns when the phone has confirmed it.
  /// - Parameter piece: The chunk, at most min(508, MTU − 3) bytes.
  func write(_ piece: [UInt8]) async throws
  /// Returns the bearers over which the phone offers a v2 mux, the preferred one first; none without a mux.
  ///
  /// The caller applies a timeout by cancelling the task.
  /// - Throws: An error when the offer cannot be read.
  func muxBearers() async throws -> [MuxBearer]
  /// Opens a channel for a v2 mux over a bearer that the phone offers.
  ///
  /// The caller applies a timeout by cancelling the task.
  /// - Throws: An error when the channel cannot be opened.
  func openMux(over bearer: MuxBearer) async throws -> any MuxChannel
  /// Disconnects and returns within a bounded time.
  func disconnect() async
}

/// An event of a connection to a phone.
public enum PhoneConnectionEvent: Sendable, Hashable {
  /// A notification of `response` or `status` arrived.
  case notification(EdgeCoderCharacteristic, [UInt8])
  /// The signal strength changed, in dBm.
  case rssi(Int)
  /// Notifications were lost because the consumer was too slow.
  case overflow
  /// The connection closed, with the reason for display; the stream ends after this event.
  case disconnected(String)
}
