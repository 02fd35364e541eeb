/// The limits and intervals of the Mac role.
public struct CentralConfiguration: Sendable, Hashable {
  /// The most phones with a link at a time.
  public var phoneLimit = 5
  /// The most phones remembered from the scan.
  public var sightingLimit = 64
  /// How long to gather sightings before the best are connected.
  public var settle = Duration.milliseconds(500)
  /// Requests a phone has in its hands at a time.
  ///
  /// One, because the phone answers one at a time anyway, because a request that waits here can still go to another
  /// phone, and because the original phone application mixes up the replies to two.
  public var requestsPerPhone = 1
  /// Requests that may wait for a phone; one more is refused as busy.
  public var waitingLimit = 32
  /// How long a request may take, waiting included; 90 s as in the proxy. Over a v2 link: to the first text of the reply,
  /// and from there from one piece to the next.
  public var requestTimeLimit = Duration.seconds(90)
  /// How long a request may take in all whose reply comes in pieces, over a v2 link: 10 min, in which a phone makes the
  /// most tokens it may be asked for (8192) at 14 a second. Never less than ``requestTimeLimit``.
  public var streamTimeLimit = Duration.seconds(600)
  /// The most bytes of an encoded request, and of a reply.
  public var messageLimit = Wire.messageLimit
  /// How long a started reply may stand still.
  public var idleLimit = Wire.idleLimit
  /// How long one attempt to connect may take, services found included.
  public var connectLimit = Duration.seconds(20)
  /// How long pairing with a phone that demands it may take, the decisions of persons included.
  public var pairingLimit = Duration.seconds(60)
  /// How long each subscription, and the reading of the status, may take.
  public var subscribeLimit = Duration.seconds(10)
  /// How long the phone may take to confirm one write. ATT itself gives up after 30 s.
  public var writeLimit = Duration.seconds(30)
  /// Over what to use a phone's v2 link, of what it offers; nothing for never.
  public var linkBearers = Set(LinkBearer.allCases)
  /// Whether to offer that text over a v2 link is compressed.
  public var compressesLink = true
  /// How the pauses between attempts to connect grow.
  public var backoff = Backoff()
  /// After how many failed attempts in a row a phone is forgotten until it is seen again.
  public var attemptLimit = 8
  /// How long a link must have been ready to start again with the shortest pause after it ends.
  public var stableAfter = Duration.seconds(5)

  /// Makes the default configuration.
  public init() {}
}

/// Pauses that double up to a cap, each a little longer or shorter at random so that many do not fall together.
public struct Backoff: Sendable, Hashable {
  /// The first pause, 0.5 s.
  public var base = Duration.milliseconds(500)
  /// The longest pause before jitter, 30 s.
  public var cap = Duration.seconds(30)
  /// The jitter as a share of the pause, 0.1 for ±10 %.
  public var jitter = 0.1

  /// Makes the default backoff.
  public init() {}

  /// The pause after a number of failures in a row.
  /// - Parameters:
  ///   - failures: 1 or more.
  ///   - random: −1…1; picks the place within the jitter.
  public func pause(afterFailures failures: Int, random: Double) -> Duration {
    let doublings = min(max(0, failures - 1), 30)
    let pause = min(base * (1 << doublings), cap)
    return pause * (1 + jitter * min(1, max(-1, random)))
  }
}
