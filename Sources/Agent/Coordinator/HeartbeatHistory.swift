/// The heartbeats that count for the coordinator's check for gaps.
enum HeartbeatHistory: Sendable, Hashable {
  /// No heartbeat was sent since the coordinator last knew nothing of this machine.
  case none
  /// No heartbeat was accepted yet. `first` is the first that was sent, `unsure` the last whose result is unknown.
  case unconfirmed(first: Duration, unsure: Duration?)
  /// The coordinator accepted the heartbeat of `last`. `unsure` is the last one sent since whose result is unknown, and
  /// `sent` the one under way a minute or more after it: its result stays unknown if the program is killed now.
  case accepted(last: Duration, unsure: Duration? = nil, sent: Duration? = nil)

  /// The instant of the last accepted heartbeat, or `nil` if there was none.
  var last: Duration? { if case .accepted(let last, _, _) = self { last } else { nil } }

  /// The instant of the first heartbeat, while none was accepted.
  var first: Duration? { if case .unconfirmed(let first, _) = self { first } else { nil } }

  /// The instant of the last heartbeat whose result is unknown.
  var unsure: Duration? {
    switch self {
    case .none: nil
    case .unconfirmed(_, let unsure), .accepted(_, let unsure, _): unsure
    }
  }

  /// The precision with which the last heartbeat is known after a kill: 1 min.
  static let precision: Duration = .seconds(60)

  /// The instant of the heartbeat that is under way a minute or more after the last accepted one.
  var sent: Duration? { if case .accepted(_, _, let sent) = self { sent } else { nil } }

  /// Counts a heartbeat that is about to be sent.
  ///
  /// After a kill the last heartbeat is known to the minute, and ``CoordinatorSession/quiet`` counts on it: one that
  /// follows later, as on a network to be spared, is written to disk before it is sent.
  mutating func send(at now: Duration) {
    switch self {
    case .none: self = .unconfirmed(first: now, unsure: nil)
    case .unconfirmed: break
    case .accepted(let last, let unsure, _):
      if now - last >= Self.precision { self = .accepted(last: last, unsure: unsure, sent: now) }
    }
  }

  /// Notes that the heartbeat under way has ended.
  mutating func ended() {
    if case .accepted(let last, let unsure, _) = self { self = .accepted(last: last, unsure: unsure) }
  }

  /// Notes that the result of a heartbeat is unknown.
  /// - Parameter instant: The instant at which the heartbeat was sent.
  mutating func isUnsure(of instant: Duration) {
    switch self {
    case .none: break
    case .unconfirmed(let first, _): self = .unconfirmed(first: first, unsure: instant)
    case .accepted(let last, _, let sent): self = .accepted(last: last, unsure: instant, sent: sent)
    }
  }

  /// Notes that the coordinator accepted a heartbeat.
  /// - Returns: The instant until which only heartbeats may be sent, if this heartbeat ends a gap.
  mutating func accept(at now: Duration) -> Duration? {
    defer { self = .accepted(last: now) }
    guard let last = last ?? first, now - last > CoordinatorSession.longestSilence else { return nil }
    // The coordinator may have accepted one in between, after which there was still a long gap.
    let latest = max(last, min(unsure ?? last, now - CoordinatorSession.longestSilence))
    let end = latest + CoordinatorSession.quiet
    return end > now ? end : nil
  }

  /// Returns `true` if a program that restores the history from `saved` would count from a moment more than a minute
  /// off, which makes a gap look longer than it was.
  func differs(from saved: HeartbeatHistory) -> Bool {
    func isOld(_ instant: Duration?, _ saved: Duration?) -> Bool {
      guard let instant else { return false }
      return saved.map { instant - $0 >= Self.precision } ?? true
    }
    return first != saved.first || sent != saved.sent || isOld(last, saved.last) || isOld(unsure, saved.unsure)
  }
}
