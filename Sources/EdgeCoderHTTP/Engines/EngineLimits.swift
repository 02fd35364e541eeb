/// The bounds of one HTTP engine: no wait and no buffer is larger than these.
public struct EngineLimits: Sendable, Hashable {
  /// To open the connection. A local server answers in milliseconds; default 2 s.
  public var connect: Duration
  /// From the prompt to its first piece of text, with loading the model into memory; default 90 s, the time after which
  /// the Mac role gives up anyway.
  public var firstPiece: Duration
  /// Between two pieces of text; default 30 s.
  public var idle: Duration
  /// For `Engine.modelState()` as a whole; default 2 s, as the protocol asks.
  public var state: Duration
  /// The longest line the engine may send, in bytes; default 1 MiB.
  public var lineBytes: Int
  /// The longest reply, in bytes of text; default 1 MiB.
  public var replyBytes: Int
  /// The most bytes one reply may take on the wire, framing included; default 64 MiB.
  public var wireBytes: Int

  /// Makes limits; see the properties for the defaults.
  public init(
    connect: Duration = .seconds(2), firstPiece: Duration = .seconds(90), idle: Duration = .seconds(30),
    state: Duration = .seconds(2), lineBytes: Int = 1 << 20, replyBytes: Int = 1 << 20, wireBytes: Int = 64 << 20
  ) {
    self.connect = connect
    self.firstPiece = firstPiece
    self.idle = idle
    self.state = state
    self.lineBytes = lineBytes
    self.replyBytes = replyBytes
    self.wireBytes = wireBytes
  }
}
