/// The timeouts and size limits of an HTTP engine.
///
/// ```swift
/// let engine = try OllamaEngine(limits: EngineLimits(firstPiece: .seconds(20), idle: .seconds(5)))
/// ```
public struct EngineLimits: Sendable, Hashable {
  /// The timeout of opening a connection. Default: 2 s.
  public var connect: Duration
  /// The timeout of the first text of a reply, loading of the model included. Default: 90 s, as in the central role.
  public var firstPiece: Duration
  /// The timeout between two pieces of text. Default: 30 s.
  public var idle: Duration
  /// The timeout of one call of `Engine.modelState()`. Default: 2 s, as the protocol `Engine` requires.
  public var state: Duration
  /// The limit on a line that the engine sends, in bytes. Default: 1 MiB.
  public var lineBytes = 1 << 20
  /// The limit on the text of a reply, in bytes. Default: 1 MiB.
  public var replyBytes = 1 << 20
  /// The limit on a reply as sent, framing included, in bytes. Default: 64 MiB.
  public var wireBytes = 64 << 20

  /// Creates limits from the timeouts; the size limits, and each timeout that is left out, have their defaults.
  public init(
    connect: Duration = .seconds(2), firstPiece: Duration = .seconds(90), idle: Duration = .seconds(30),
    state: Duration = .seconds(2)
  ) {
    self.connect = connect
    self.firstPiece = firstPiece
    self.idle = idle
    self.state = state
  }
}
