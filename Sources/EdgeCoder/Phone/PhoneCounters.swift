/// The counters of the phone role since its start.
public struct PhoneCounters: Sendable, Hashable, Codable {
  /// The counters of what the phone refused.
  public struct Refused: Sendable, Hashable, Codable {
    /// The number of requests refused because the phone was busy.
    public var busy = 0
    /// The number of these requests that exceeded a limit for one central.
    ///
    /// The limits are ``PhoneConfiguration/Rates`` and ``PhoneConfiguration/Queue/limitPerCentral``.
    public var limited = 0
    /// The number of complete objects that were not a request, and of objects over the size limit.
    public var malformed = 0
    /// The number of writes refused: a bad offset, too many centrals, a full event stream, or no v2 mux.
    public var writes = 0
    /// The number of accesses refused to centrals without permission, and of their connections closed.
    ///
    /// Accesses over an unencrypted connection are refused by bluetoothd and not counted; see ``AccessPolicy``.
    public var accesses = 0
    /// The number of refusals that were not sent because too many waited.
    public var unsent = 0
  }

  /// The number of well-formed requests, those refused as busy included.
  public var requests = 0
  /// The number of bytes of these requests, as encoded.
  public var requestBytes = 0
  /// The number of requests whose identifier the same central already waits for; one reply answers both.
  public var duplicates = 0
  /// The number of requests cancelled by their central, explicitly or by disconnecting.
  public var cancelled = 0
  /// The number of replies sent in full, refusals included.
  public var replies = 0
  /// The number of bytes of these replies, as encoded.
  public var replyBytes = 0
  /// The number of notifications of the response characteristic that were sent.
  public var chunks = 0
  /// The number of replies that were not sent, or sent only in part.
  public var repliesFailed = 0
  /// The number of replies truncated at the reply limit.
  public var truncated = 0
  /// The number of requests that the engine failed to answer.
  public var engineFailures = 0
  /// The number of status messages sent.
  public var statusPushes = 0
  /// The number of discarded bytes that belonged to no complete object.
  public var discardedBytes = 0
  /// The counters of what the phone refused.
  public var refused = Refused()

  /// Creates counters that are all zero.
  public init() {}
}

/// A snapshot of the phone role for operators; it contains no text of any request.
public struct PhoneSnapshot: Sendable, Hashable {
  /// A Boolean value that indicates whether the service is registered and advertised.
  public var isUp: Bool
  /// The number of connected centrals, as far as the transport reports them.
  public var peers: Int
  /// The number of requests that wait.
  public var queued: Int
  /// A Boolean value that indicates whether a request is being answered.
  public var isAnswering: Bool
  /// The last status of the phone; `nil` before the first.
  public var status: Wire.Status?
  /// The counters since the start.
  public var counters: PhoneCounters
}
