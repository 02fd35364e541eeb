/// A connection with the state of its channels.
struct LinkState: Sendable {
  /// The two directions, by whether this host sends.
  struct Directions<Value: Sendable>: Sendable {
    private var host: Value
    private var peer: Value

    init(_ value: Value) {
      host = value
      peer = value
    }

    subscript(isFromHost: Bool) -> Value {
      get { isFromHost ? host : peer }
      _modify { if isFromHost { yield &host } else { yield &peer } }
    }
  }

  struct Channel: Sendable {
    var channel: TrafficChannel
    var assemblers = Directions(ChannelAssembler())
    /// The Attribute Protocol on it, if it is a channel of EATT.
    var bearer: AttributeBearer?

    var waiting: Int { assemblers[true].waiting + assemblers[false].waiting }
  }

  struct Request: Hashable {
    var identifier: UInt8
    var isFromHost: Bool
  }

  var link: Link
  /// A Boolean value that indicates whether the connection is one of Bluetooth Classic, which is not decoded.
  var isClassic = false
  var assemblers = Directions(L2CAPAssembler())
  var attributes = AttributeBearer()
  var channels: [Channel] = []
  var requests: [Request: L2CAPSignal.ChannelRequest] = [:]

  init(_ link: Link) { self.link = link }

  /// The limit of the bytes that wait for the rest of their packets; more of them are dropped.
  static let waitingLimit = 256 << 10
  static let channelLimit = 32

  var waiting: Int {
    channels.reduce(assemblers[true].waiting + assemblers[false].waiting) { $0 + $1.waiting }
  }

  /// Drops what waits, when it is too much.
  mutating func limitWaiting() {
    guard !channels.isEmpty, waiting > Self.waitingLimit else { return }
    for index in channels.indices { channels[index].assemblers = Directions(ChannelAssembler()) }
  }
}
