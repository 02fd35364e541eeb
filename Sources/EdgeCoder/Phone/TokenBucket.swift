/// A token bucket that limits a rate: its capacity is the tokens of one minute, and it refills evenly.
struct TokenBucket: Sendable, Hashable {
  let perMinute: Int
  /// The number of tokens: at most those of one minute, and at least minus that, so that no wait exceeds two minutes.
  private var level: Double
  private var filled: Duration

  /// Creates a full bucket.
  init(perMinute: Int, at now: Duration) {
    self.perMinute = max(1, perMinute)
    level = Double(self.perMinute)
    filled = now
  }

  /// Removes tokens that were used already, also from an empty bucket.
  mutating func charge(_ tokens: Int, at now: Duration) {
    level = max(level(at: now) - Double(tokens), -Double(perMinute))
    filled = max(filled, now)
  }

  /// Returns the time until a token is available; zero when one is.
  func wait(at now: Duration) -> Duration {
    let level = level(at: now)
    return level >= 1 ? .zero : .seconds((1 - level) * 60 / Double(perMinute))
  }

  func isFull(at now: Duration) -> Bool { level(at: now) >= Double(perMinute) }

  private func level(at now: Duration) -> Double {
    // A clock that goes back adds nothing and removes nothing.
    let minutes = max(now - filled, .zero) / .seconds(60)
    return min(level + Double(perMinute) * minutes, Double(perMinute))
  }
}

/// The rate limits of all centrals of a phone: objects and bytes per minute.
///
/// The limits of a central survive its disconnection, so that a new connection does not reset them.
struct PeerRates: Sendable {
  /// The limit that a central has exceeded, with the time until it may send again.
  enum Shortage: Equatable {
    case requests(Duration)
    case bytes(Duration)
  }

  private struct Rates {
    var objects: TokenBucket
    var bytes: TokenBucket
  }

  let requestsPerMinute: Int
  let bytesPerMinute: Int
  let peerLimit: Int
  private var peers: [PeerID: Rates] = [:]

  init(_ configuration: PhoneConfiguration) {
    requestsPerMinute = configuration.rates.requestsPerMinute
    bytesPerMinute = configuration.rates.bytesPerMinute
    // More than can be connected at a time, for those that return.
    peerLimit = configuration.peerLimit * 4
  }

  var count: Int { peers.count }

  /// Charges the bytes that a central wrote.
  mutating func charge(_ peer: PeerID, bytes: Int, at now: Duration) {
    update(peer, at: now) { $0.bytes.charge(bytes, at: now) }
  }

  /// Charges a complete object of a central, unless it exceeds a limit.
  /// - Returns: The exceeded limit; `nil` if the object is within the limits.
  mutating func admit(_ peer: PeerID, at now: Duration) -> Shortage? {
    update(peer, at: now) { rates in
      let objects = rates.objects.wait(at: now)
      let bytes = rates.bytes.wait(at: now)
      if objects > .zero { return .requests(objects) }
      if bytes > .zero { return .bytes(bytes) }
      rates.objects.charge(1, at: now)
      return nil
    }
  }

  /// Returns what an object was charged, because its request was refused for another reason.
  mutating func refund(_ peer: PeerID, at now: Duration) {
    update(peer, at: now) { $0.objects.charge(-1, at: now) }
  }

  private mutating func update<Result>(_ peer: PeerID, at now: Duration, _ change: (inout Rates) -> Result) -> Result {
    if peers[peer] == nil, peers.count >= peerLimit { removeStale(at: now) }
    var rates =
      peers[peer]
      ?? Rates(
        objects: TokenBucket(perMinute: requestsPerMinute, at: now),
        bytes: TokenBucket(perMinute: bytesPerMinute, at: now))
    defer { peers[peer] = rates }
    return change(&rates)
  }

  /// Removes the centrals with full buckets or, if there are none, the one with the shortest wait.
  private mutating func removeStale(at now: Duration) {
    peers = peers.filter { !$0.value.objects.isFull(at: now) || !$0.value.bytes.isFull(at: now) }
    guard peers.count >= peerLimit else { return }
    func wait(_ rates: Rates) -> Duration { rates.objects.wait(at: now) + rates.bytes.wait(at: now) }
    if let next = peers.min(by: { wait($0.value) < wait($1.value) }) { peers[next.key] = nil }
  }
}
