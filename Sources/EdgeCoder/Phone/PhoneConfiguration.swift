/// The limits and intervals of the phone role.
public struct PhoneConfiguration: Sendable, Hashable {
  /// The most bytes one request may have; ``Wire/messageLimit`` unless said otherwise.
  public var requestLimit = Wire.messageLimit
  /// How long a started request may stand still; ``Wire/idleLimit`` unless said otherwise.
  public var idleLimit = Wire.idleLimit
  /// The most bytes an encoded reply may have; text beyond is cut off and the reply says so.
  public var replyLimit = Wire.messageLimit
  /// How many requests may wait while one is being answered; one more is told that the phone is busy.
  public var queueLimit = 16
  /// How many refusals (busy, malformed) may wait to be sent; more are dropped and counted.
  public var refusalLimit = 32
  /// The most tokens a request may ask for; more count as this many. The EdgeCoder provider takes 1–8192.
  public var maxTokensLimit = 8192
  /// How long the engine may take for one prompt. A central waits for 90 s.
  public var jobLimit = Duration.seconds(90)
  /// The pause between chunks.
  public var chunkInterval = Duration.milliseconds(10)
  /// How often the status is pushed when nothing changes.
  public var statusInterval = Duration.seconds(30)
  /// How often the engine and the battery are asked, so that a change is pushed.
  public var statusPollInterval = Duration.seconds(5)
  /// The most centrals that are kept apart; writes of one more are refused. BlueZ has at most a few dozen links.
  public var peerLimit = 64

  /// Makes the default configuration.
  public init() {}
}
