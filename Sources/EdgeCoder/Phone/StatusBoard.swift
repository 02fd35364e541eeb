/// The state machine that decides when the status is sent: after a change, after a subscription, and at an interval.
struct StatusBoard: Sendable {
  let interval: Duration
  private(set) var current: Wire.Status?
  private var lastPush: Duration?
  private var isRequested = false

  init(interval: Duration) { self.interval = interval }

  /// Requests that the status is sent, for a new subscriber.
  mutating func requestPush() { isRequested = true }

  /// Updates the status.
  /// - Returns: `true` if the status must be sent.
  mutating func update(_ status: Wire.Status, at now: Duration) -> Bool {
    let isDue = lastPush.map { now - $0 >= interval } ?? true
    guard status != current || isRequested || isDue else { return false }
    current = status
    isRequested = false
    lastPush = now
    return true
  }
}
