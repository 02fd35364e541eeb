/// When the phone's status is to be pushed: when it changed, when someone subscribed, and every interval.
///
/// A value type without a clock.
struct StatusBoard: Sendable {
  let interval: Duration
  private(set) var current: Wire.Status?
  private var lastPush: Duration?
  private var isWanted = false

  init(interval: Duration) { self.interval = interval }

  /// A central waits to hear the status.
  mutating func want() { isWanted = true }

  /// Takes the status as it is now.
  /// - Returns: whether it is to be pushed.
  mutating func update(_ status: Wire.Status, at now: Duration) -> Bool {
    let isDue = lastPush.map { now - $0 >= interval } ?? true
    guard status != current || isWanted || isDue else { return false }
    current = status
    isWanted = false
    lastPush = now
    return true
  }
}
