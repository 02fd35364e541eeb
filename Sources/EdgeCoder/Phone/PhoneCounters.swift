/// What the phone role did since it started.
public struct PhoneCounters: Sendable, Hashable, Codable {
  /// Well-formed requests, also those refused for lack of room.
  public var requests = 0
  /// The bytes of those requests, as encoded.
  public var requestBytes = 0
  /// Replies sent whole, refusals included.
  public var replies = 0
  /// The bytes of those replies, as encoded.
  public var replyBytes = 0
  /// The notifications of the response characteristic that were sent.
  public var chunks = 0
  /// Requests told that the phone is busy.
  public var busy = 0
  /// Those of the busy that asked too often, wrote too much, or had too many requests waiting; see
  /// ``PhoneConfiguration/requestsPerMinute``.
  public var limited = 0
  /// Complete objects that were no request, and objects over the limit.
  public var malformed = 0
  /// Bytes thrown away that belonged to no complete object.
  public var discardedBytes = 0
  /// Requests whose id the same central already waits for: one reply answers both.
  public var duplicates = 0
  /// Requests given up because their central disconnected.
  public var cancelled = 0
  /// Replies the engine failed to give.
  public var engineFailures = 0
  /// Replies cut at the reply limit.
  public var cut = 0
  /// Replies that could not be sent, or only in part.
  public var repliesFailed = 0
  /// Refusals dropped because too many waited.
  public var refusalsDropped = 0
  /// Writes refused: a bad offset, one central too many, more than could be taken in, or of no v2 link.
  public var writesRefused = 0
  /// Accesses refused to centrals that may not ask, and links of theirs ended; see ``AccessPolicy``. What they try
  /// over a link that is not encrypted bluetoothd refuses by itself, and is not counted.
  public var accessRefused = 0
  /// Status messages pushed.
  public var statusPushes = 0

  /// Makes counters of zero.
  public init() {}
}

/// The phone role at one moment, for `edgeblue phone` and monitors. Holds no text of any request.
public struct PhoneSnapshot: Sendable, Hashable {
  /// Whether the service can be reached.
  public var isUp: Bool
  /// Centrals that are connected, as far as the transport tells.
  public var peers: Int
  /// Requests waiting.
  public var queued: Int
  /// Whether a request is being answered.
  public var isAnswering: Bool
  /// The last status.
  public var status: Wire.Status?
  /// What was done so far.
  public var counters: PhoneCounters
}
