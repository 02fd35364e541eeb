/// The limits and intervals of the phone role.
///
/// ```swift
/// var configuration = PhoneConfiguration()
/// configuration.queue.limit = 4
/// configuration.timeouts.text = .seconds(30)
/// ```
public struct PhoneConfiguration: Sendable, Hashable {
  /// The limits of the job queue.
  public struct Queue: Sendable, Hashable {
    /// The number of requests that are answered at a time, 1 to ``parallelLimit``; `nil` asks the engine. Default: `nil`.
    public var parallel: Int?
    /// The largest number of requests that are answered at a time: 16.
    public static let parallelLimit = 16
    /// The number of requests that may wait while others are answered; the next one is refused as busy. Default: 16.
    public var limit = 16
    /// The number of requests of one central in the queue, those being answered included. Default: 8.
    public var limitPerCentral = 8
  }

  /// The limits on the rate of one central.
  public struct Rates: Sendable, Hashable {
    /// The number of requests per minute; the next one is refused as busy. Default: 120.
    ///
    /// Malformed requests count, too; those refused as busy do not.
    public var requestsPerMinute = 120
    /// The number of bytes written per minute; a request over the limit is refused as busy. Default: 4 MiB, which is
    /// 16 of the largest requests.
    public var bytesPerMinute = 16 * Wire.messageLimit
  }

  /// The limits on the refusals that wait to be sent; more are dropped and counted.
  public struct Refusals: Sendable, Hashable {
    /// The number of refusals for all centrals together. Default: 32.
    public var limit = 32
    /// The number of refusals for one central. Default: 8.
    public var limitPerCentral = 8
  }

  /// The timeouts of the engine.
  public struct Timeouts: Sendable, Hashable {
    /// The time for a whole reply; over a v2 mux, the time to the first text and between two pieces. Default: 90 s.
    ///
    /// A central waits 90 s as well.
    public var text = Duration.seconds(90)
    /// The time for a whole reply over a v2 mux, at least ``text``. Default: 10 min, as long as a central waits.
    public var reply = Duration.seconds(600)
  }

  /// The intervals of the status.
  public struct Status: Sendable, Hashable {
    /// The interval at which an unchanged status is sent. Default: 30 s.
    public var interval = Duration.seconds(30)
    /// The interval at which the engine and the battery are polled for changes. Default: 5 s. Without a central, an
    /// engine that is ready is polled at ``interval``.
    public var pollInterval = Duration.seconds(5)
  }

  /// The limit on one request in bytes. Default: ``Wire/messageLimit``.
  public var requestLimit = Wire.messageLimit
  /// The time after which an incomplete request that does not grow is discarded. Default: ``Wire/idleLimit``.
  public var idleLimit = Wire.idleLimit
  /// The limit on an encoded reply in bytes; a longer text is truncated and ends with the reason `length`. Default:
  /// ``Wire/messageLimit``.
  public var replyLimit = Wire.messageLimit
  /// The limit on the tokens that a request may demand; a request for more gets this many, and its reply then ends with
  /// the reason `length`. Default: 8192, as in the EdgeCoder provider.
  public var maxTokensLimit = 8192
  /// The limit on the number of centrals; the writes of more are refused. Default: 64.
  ///
  /// BlueZ has at most a few dozen connections.
  public var peerLimit = 64
  /// The interval between the chunks of a reply. Default: 10 ms.
  public var chunkInterval = Duration.milliseconds(10)
  /// The limits of the job queue.
  public var queue = Queue()
  /// The limits on the rate of one central.
  public var rates = Rates()
  /// The limits on the refusals that wait to be sent.
  public var refusals = Refusals()
  /// The timeouts of the engine.
  public var timeouts = Timeouts()
  /// The intervals of the status.
  public var status = Status()

  /// Creates a configuration with the default of each property.
  public init() {}
}
