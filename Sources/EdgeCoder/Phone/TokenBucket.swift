/// What somebody may do at a limited rate: a bucket that holds what one minute brings, and fills up evenly.
///
/// A value type without a clock.
struct TokenBucket: Sendable, Hashable {
  let perMinute: Int
  /// At most a minute's worth, at least minus that: who took far too much waits two minutes, not for ever.
  private var level: Double
  private var filled: Duration

  /// A full bucket.
  init(perMinute: Int, at now: Duration) {
    self.perMinute = max(1, perMinute)
    level = Double(self.perMinute)
    filled = now
  }

  /// Takes tokens that were used already, also when there are none left.
  mutating func charge(_ tokens: Int, at now: Duration) {
    level = max(level(at: now) - Double(tokens), -Double(perMinute))
    filled = max(filled, now)
  }

  /// How long until there is a token again; zero when there is one.
  func wait(at now: Duration) -> Duration {
    let level = level(at: now)
    return level >= 1 ? .zero : .seconds((1 - level) * 60 / Double(perMinute))
  }

  func isFull(at now: Duration) -> Bool { level(at: now) >= Double(perMinute) }

  private func level(at now: Duration) -> Double {
    // A clock that goes back brings nothing, and costs nothing.
    let minutes = max(now - filled, .zero) / .seconds(60)
    return min(level + Double(perMinute) * minutes, Double(perMinute))
  }
}

/// How much each central may ask of a phone: objects and bytes a minute.
///
/// A central is remembered when it disconnects, so that a new link brings no new minute.
struct PeerRates: Sendable {
  /// What a central has too little of.
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
    requestsPerMinute = configuration.requestsPerMinute
    bytesPerMinute = configuration.bytesPerMinute
    // More than can be linked at a time, for those who come back.
    peerLimit = configuration.peerLimit * 4
  }

  var count: Int { peers.count }

  /// Takes note of what a central wrote.
  mutating func charge(_ peer: PeerID, bytes: Int, at now: Duration) {
    update(peer, at: now) { $0.bytes.charge(bytes, at: now) }
  }

  /// Takes note of a complete object of a central.
  /// - Returns: what it has too little of; `nil` when the object is within its rates.
  mutating func admit(_ peer: PeerID, at now: Duration) -> Shortage? {
    update(peer, at: now) { rates in
      let (objects, bytes) = (rates.objects.wait(at: now), rates.bytes.wait(at: now))
      rates.objects.charge(1, at: now)
      if objects > .zero { return .requests(objects) }
      return bytes > .zero ? .bytes(bytes) : nil
    }
  }

  private mutating func update<Result>(_ peer: PeerID, at now: Duration, _ change: (inout Rates) -> Result) -> Result {
    if peers[peer] == nil, peers.count >= peerLimit { makeRoom(at: now) }
    var rates =
      peers[peer]
      ?? Rates(
        objects: TokenBucket(perMinute: requestsPerMinute, at: now),
        bytes: TokenBucket(perMinute: bytesPerMinute, at: now))
    defer { peers[peer] = rates }
    return change(&rates)
  }

  /// Forgets who has all of its minute again and, when nobody has, the one who has to wait least.
  private mutating func makeRoom(at now: Duration) {
    peers = peers.filter { !$0.value.objects.isFull(at: now) || !$0.value.bytes.isFull(at: now) }
    guard peers.count >= peerLimit else { return }
    func wait(_ rates: Rates) -> Duration { rates.objects.wait(at: now) + rates.bytes.wait(at: now) }
    if let next = peers.min(by: { wait($0.value) < wait($1.value) }) { peers[next.key] = nil }
  }
}
