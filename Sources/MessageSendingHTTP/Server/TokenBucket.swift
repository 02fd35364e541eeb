/// A limit on a rate: tokens are added at a steady rate up to a number, and each request takes one.
struct TokenBucket {
  /// The number of tokens that are added each second.
  let rate: Double
  /// The largest number of tokens.
  let capacity: Double
  private var tokens: Double
  private var last = Duration.zero

  /// Creates a full bucket for a rate; at least one request is always permitted after a pause.
  init(perMinute: Int) {
    rate = Double(perMinute) / 60
    capacity = max(Double(perMinute), 1)
    tokens = capacity
  }

  /// Takes a token, if there is one.
  mutating func take(at now: Duration) -> Bool {
    let (seconds, attoseconds) = (now - last).components
    tokens = min(capacity, tokens + max(Double(seconds) + Double(attoseconds) / 1e18, 0) * rate)
    last = max(now, last)
    guard tokens >= 1 else { return false }
    tokens -= 1
    return true
  }
}
