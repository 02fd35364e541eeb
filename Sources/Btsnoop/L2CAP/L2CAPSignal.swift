/// A signal of L2CAP on an LE connection (Core Specification 3.A.4).
public enum L2CAPSignal: Sendable, Hashable {
  /// The fields of a request for a channel with credits.
  public struct ChannelRequest: Sendable, Hashable {
    /// The service of the peer, its protocol/service multiplexer: 0x0027 is that of the enhanced Attribute Protocol.
    public var psm: UInt16
    /// The channels of the sender: one, or up to five of an enhanced request.
    public var channels: [UInt16]
    /// The longest message (SDU) that the sender receives, in bytes.
    public var mtu: UInt16
    /// The longest packet that the sender receives, in bytes.
    public var mps: UInt16
    /// The number of packets that the receiver may send now.
    public var credits: UInt16
  }

  /// The fields of the response to a request for a channel with credits.
  public struct ChannelResponse: Sendable, Hashable {
    /// The channels of the sender, in the order of the request; 0 for a refused one.
    public var channels: [UInt16]
    /// The longest message (SDU) that the sender receives, in bytes.
    public var mtu: UInt16
    /// The longest packet that the sender receives, in bytes.
    public var mps: UInt16
    /// The number of packets that the receiver may send now.
    public var credits: UInt16
    /// The outcome; 0 is success.
    public var result: UInt16
  }

  /// The peripheral asks for other connection parameters: the ends of the interval in units of 1.25 ms, the latency,
  /// and the timeout in units of 10 ms.
  case timingRequest(least: UInt16, most: UInt16, latency: UInt16, timeoutUnits: UInt16)
  /// The central accepts them, or not.
  case timingResponse(isAccepted: Bool)
  /// A request for channels with credits.
  case channelRequest(ChannelRequest)
  /// The response to a request for channels.
  case channelResponse(ChannelResponse)
  /// More packets may be sent on a channel of the sender.
  case credits(channel: UInt16, count: UInt16)
  /// A request to close a channel: that of the receiver, and that of the sender.
  case disconnectRequest(destination: UInt16, source: UInt16)
  /// The response to it: the channel of the sender, and that of the receiver.
  case disconnectResponse(destination: UInt16, source: UInt16)
  /// The receiver of a request does not know it, or refuses it.
  case rejected(reason: UInt16)
  /// Another signal, with its code.
  case other(code: UInt8, bytes: [UInt8])

  /// Decodes a signal, which has an identifier that joins a response to its request.
  /// - Returns: `nil` for a signal that is shorter than its code requires.
  public static func decode(_ payload: ArraySlice<UInt8>) -> (identifier: UInt8, signal: L2CAPSignal)? {
    var reader = ByteReader(payload)
    guard let code = reader.byte(), let identifier = reader.byte(), let length = reader.uint16(),
      let content = reader.bytes(Int(length)), let signal = L2CAPSignal(code, ByteReader(content))
    else { return nil }
    return (identifier, signal)
  }

  private init?(_ code: UInt8, _ content: ByteReader) {
    var fields = content
    switch code {
    case 0x01:
      guard let reason = fields.uint16() else { return nil }
      self = .rejected(reason: reason)
    case 0x06, 0x07:
      guard let destination = fields.uint16(), let source = fields.uint16() else { return nil }
      self =
        code == 0x06
        ? .disconnectRequest(destination: destination, source: source)
        : .disconnectResponse(destination: destination, source: source)
    case 0x12:
      guard let least = fields.uint16(), let most = fields.uint16(), let latency = fields.uint16(),
        let timeout = fields.uint16()
      else { return nil }
      self = .timingRequest(least: least, most: most, latency: latency, timeoutUnits: timeout)
    case 0x13:
      guard let result = fields.uint16() else { return nil }
      self = .timingResponse(isAccepted: result == 0)
    case 0x14, 0x17:
      guard let request = ChannelRequest(&fields, isEnhanced: code == 0x17) else { return nil }
      self = .channelRequest(request)
    case 0x15, 0x18:
      guard let response = ChannelResponse(&fields, isEnhanced: code == 0x18) else { return nil }
      self = .channelResponse(response)
    case 0x16:
      guard let channel = fields.uint16(), let count = fields.uint16() else { return nil }
      self = .credits(channel: channel, count: count)
    default: self = .other(code: code, bytes: fields.all())
    }
  }
}

extension L2CAPSignal.ChannelRequest {
  fileprivate init?(_ fields: inout ByteReader, isEnhanced: Bool) {
    guard let psm = fields.uint16() else { return nil }
    self.psm = psm
    channels = []
    if !isEnhanced {
      guard let channel = fields.uint16() else { return nil }
      channels = [channel]
    }
    guard let mtu = fields.uint16(), let mps = fields.uint16(), let credits = fields.uint16() else { return nil }
    self.mtu = mtu
    self.mps = mps
    self.credits = credits
    if isEnhanced {
      while channels.count < 5, let channel = fields.uint16() { channels.append(channel) }
    }
  }
}

extension L2CAPSignal.ChannelResponse {
  fileprivate init?(_ fields: inout ByteReader, isEnhanced: Bool) {
    channels = []
    if !isEnhanced {
      guard let channel = fields.uint16() else { return nil }
      channels = [channel]
    }
    guard let mtu = fields.uint16(), let mps = fields.uint16(), let credits = fields.uint16(),
      let result = fields.uint16()
    else { return nil }
    self.mtu = mtu
    self.mps = mps
    self.credits = credits
    self.result = result
    if isEnhanced {
      while channels.count < 5, let channel = fields.uint16() { channels.append(channel) }
    }
  }
}
