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
  /// How many requests of one central may be in the queue, the one being answered included.
  public var requestsPerPeer = 8
  /// How many requests one central may send in a minute, at once or spread out; one more is told that the phone is
  /// busy. What is no request counts too.
  public var requestsPerMinute = 120
  /// How many bytes one central may write in a minute; a request over that is told that the phone is busy. The default
  /// is sixteen of the largest requests.
  public var bytesPerMinute = 16 * Wire.messageLimit
  /// How many refusals (busy, malformed) may wait to be sent; more are dropped and counted.
  public var refusalLimit = 32
  /// How many of those may be for one central, so that one that asks wildly does not keep others from their replies.
  public var refusalsPerPeer = 8
  /// The most tokens a request may ask for; more count as this many. The EdgeCoder provider takes 1–8192.
  public var maxTokensLimit = 8192
  /// How long the engine may take for one prompt. A central waits for 90 s. For a prompt over a v2 link: to the first
  /// text, and from there from one piece to the next.
  public var jobLimit = Duration.seconds(90)
  /// How long it may take in all for a prompt over a v2 link; 10 min, as long as a central waits. Never less than
  /// ``jobLimit``.
  public var streamLimit = Duration.seconds(600)
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
