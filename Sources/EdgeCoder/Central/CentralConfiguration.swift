public import Timing

/// The limits and intervals of the central role.
///
/// ```swift
/// import Timing
///
/// var configuration = CentralConfiguration()
/// configuration.phoneLimit = 2
/// configuration.requests.timeout = .seconds(30)
/// configuration.reconnection.backoff.limit = .seconds(10)
/// ```
public struct CentralConfiguration: Sendable, Hashable {
  /// The limits of the requests.
  public struct Requests: Sendable, Hashable {
    /// The number of requests that a phone without a v2 mux has at a time. Default: 1.
    ///
    /// Such a phone answers one request at a time, and a request that waits at the central can still be sent to another
    /// phone. The original phone application confuses the replies to two requests.
    public var perPhone = 1
    /// The number of requests that a phone with a v2 mux has at a time. Default: 8, the share of one central in the queue of
    /// a phone.
    ///
    /// The phone answers as many at a time as its engine bears, and in turn with those of other centrals.
    public var perMux = 8
    /// The number of requests that may wait for a phone; the next one is refused as busy. Default: 32.
    public var waitingLimit = 32
    /// The time for a reply, waiting included; over a v2 mux, the time to the first text and between two pieces.
    /// Default: 90 s, as in the EdgeCoder proxy.
    public var timeout = Duration.seconds(90)
    /// The time without a sign of a reply after which another phone that is ready and free is asked, too. Default: 4 s.
    ///
    /// The first text, or complete reply, is used, and the other request is abandoned. A phone that has answered since it
    /// was connected gets twice the longest time that it has needed, if that is more.
    public var failoverDelay = Duration.seconds(4)
    /// The time for a whole reply over a v2 mux, at least ``timeout``. Default: 10 min.
    ///
    /// In this time a phone produces the largest number of tokens that a request may demand (8192) at 14 per second.
    public var streamTimeout = Duration.seconds(600)
  }

  /// The timeouts of the operations of a connection.
  public struct Timeouts: Sendable, Hashable {
    /// The time for one connection attempt, service discovery included. Default: 20 s.
    public var connect = Duration.seconds(20)
    /// The time in which the link of an attempt must be established. Default: 2.5 s.
    ///
    /// A phone advertises at least once in it, and is heard then; while a controller tries to connect it hears no other
    /// phone.
    public var turn = Duration.milliseconds(2500)
    /// The pause after an attempt that took too long: the scan hears phones, and only one that has not failed is dialled.
    /// Default: 1.5 s.
    public var listening = Duration.milliseconds(1500)
    /// The time for which the central listens for a phone whose address may have changed
    /// (``PhoneScanResult/mayChangeAddress``) before it dials the old one. Default: 10 s.
    ///
    /// A scan reports a phone that is in range within it, under the old address or a new one.
    public var hearing = Duration.seconds(10)
    /// The time for pairing with a phone that demands it, decisions of users included. Default: 60 s.
    public var pairing = Duration.seconds(60)
    /// The time in which a phone sends its status by itself; one that does not is asked for it. Default: 3 s.
    public var status = Duration.seconds(3)
    /// The time for each subscription, for reading the status, and for opening a v2 mux. Default: 10 s.
    public var subscribe = Duration.seconds(10)
    /// The time in which a phone must confirm one write. Default: 30 s, the timeout of ATT.
    public var write = Duration.seconds(30)
  }

  /// The use of v2 muxes.
  public struct Mux: Sendable, Hashable {
    /// The bearers to use if the phone offers them; none disables v2 muxes. Default: all.
    public var bearers = Set(MuxBearer.allCases)
    /// A Boolean value that indicates whether compression of text is offered. Default: `true`.
    public var compressesText = true
  }

  /// The schedule of connection attempts after a failure.
  public struct Reconnection: Sendable, Hashable {
    /// The delays between connection attempts. Default: 0.5 s, doubled up to 30 s, ±10 %.
    public var backoff = Backoff(base: .milliseconds(500), limit: .seconds(30), jitter: 0.9...1.1)
    /// The number of failed attempts in a row after which a phone is removed until the next scan result. Default: 8.
    public var attemptLimit = 8
    /// The time that a connection must have been ready for the next delay to be the shortest. Default: 5 s.
    public var stableAfter = Duration.seconds(5)
  }

  /// The number of phones that are connected at a time. Default: 5.
  public var phoneLimit = 5
  /// The number of phones that are remembered from the scan. Default: 64.
  public var phoneListLimit = 64
  /// The time for which scan results are collected before the best phones are connected. Default: 0.5 s.
  public var settleTime = Duration.milliseconds(500)
  /// The limit on an encoded request and on a reply, in bytes. Default: ``Wire/messageLimit``.
  public var messageLimit = Wire.messageLimit
  /// The time after which an incomplete reply that does not grow is discarded. Default: ``Wire/idleLimit``.
  public var idleLimit = Wire.idleLimit
  /// The limits of the requests.
  public var requests = Requests()
  /// The timeouts of the operations of a connection.
  public var timeouts = Timeouts()
  /// The use of v2 muxes.
  public var mux = Mux()
  /// The schedule of connection attempts after a failure.
  public var reconnection = Reconnection()

  /// Creates a configuration with the default of each property.
  public init() {}
}
